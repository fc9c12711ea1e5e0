# SPDX-License-Identifier: Apache-2.0
# The front door. Everything behind it is Meson (build/) and the scripts of tools/.
#
#   make help    these lines
#   make         build              make check      warnings, sanitizers, fuzzers, linters
#   make demo    the tour               make bench      the figures, beside the peers'
#   make test    the tests          make gpu-check  the same on a real GPU, where there is one
#   make install [PREFIX=/usr/local] [DESTDIR=]     make uninstall      make clean
#   make dist    the release tarballs, in build/dist    make deb    Debian packages, in build/deb
#   make docs    the documentation as a web site, in build/site; read it without server or network
#
# Each target first installs what it needs (root, or sudo when there is one; see tools/bootstrap).
PREFIX ?= /usr/local

all:
	@tools/bootstrap build
	@tools/build

help:
	@sed -n 's/^#   //p' Makefile

demo:
	@tools/bootstrap build demo
	@tools/build
	@tools/demo

test:
	@tools/bootstrap build test
	@tools/build
	@tools/test

check:
	@tools/bootstrap build test check deb
	@tools/build
	@tools/check

bench:
	@tools/bootstrap build
	@tools/build
	@tools/bench

gpu-check:
	@tools/bootstrap build
	@tools/build
	@tools/gpu-check

install:
	@case "$(PREFIX)" in *[[:space:]:]*) \
		echo "PREFIX is to be without space and colon, for LD_PRELOAD, not '$(PREFIX)'" >&2; exit 2 ;; esac
	@for to in bin lib share; do to="$(DESTDIR)$(PREFIX)/$$to"; \
		while [ ! -e "$$to" ]; do to=$$(dirname "$$to"); done; \
		[ -w "$$to" ] || { echo "make install: cannot write to $$to; use sudo, or PREFIX= with a folder" \
			"of yours" >&2; exit 2; }; done
	@tools/bootstrap build
	@tools/build --prefix "$(PREFIX)"
	@meson install -C build --no-rebuild $(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))")

# What the last make install put there.
uninstall:
	@ninja -C build uninstall

dist:
	@tools/bootstrap build dist
	@tools/dist

deb:
	@tools/bootstrap build deb
	@tools/deb

docs:
	@tools/bootstrap docs
	@tools/docs

clean:
	rm -rf build build-gcc build-clang build-asan build-tsan build-fuzz build-aarch64

.PHONY: all help demo test check bench gpu-check install uninstall dist deb docs clean
