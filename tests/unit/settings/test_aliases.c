/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Someone who comes from another system keeps its names and its units, or is told why not.
 */
#include <errno.h>
#include <string.h>

#include "fixture.h"
#include "settings/reading.h"

/* Refused, with the variable's name and this word. */
#define expect_named(word, ...) expect_named_in((char *[]){ __VA_ARGS__, NULL }, word)

static void expect_named_in(char *const *environment, const char *word)
{
        char name[64] = "";

        memcpy(name, environment[0], strcspn(environment[0], "="));
        expect_refused_in(environment, name, word);
}

/* Read without a complaint. */
#define read_good(ret, ...) assert_int_equal(read_env(ret, NULL, __VA_ARGS__), 0)

#define TF "TENSOR_FUSION_CUDA_MEM_LIMIT="
#define TF_UUID "gpu-3430f778-7a25-704c-9090-8b0bb2478114"

/* The document's own lines. */
static void test_vgpu_rs(void **state)
{
        expect_asked("memory=GPU-3430f778-7a25-704c-9090-8b0bb2478114=1073741824",
                     TF "{\"" TF_UUID "\": 1073741824}");
        expect_asked("memory=GPU-3430f778-7a25-704c-9090-8b0bb2478114=1073741824",
                     TF "{\"GPU-3430F778-7A25-704C-9090-8B0BB2478114\":1073741824}");
        expect_asked("memory=0=2147483648", TF "{\"0\": 2147483648}");
        expect_asked("memory=0=1,1=2", TF " { \"1\" : 2 , \"\\u0030\" : 1 } ");
        expect_named("ends too early", TF "{\"0\": 2147483648");
        expect_named("expected an object", TF "[1]");
        expect_named("expected an object", TF "2147483648");
        expect_named("names no GPU", TF "{}");
        expect_named("whole number", TF "{\"0\": \"2GiB\"}");
        expect_named("whole number", TF "{\"0\": 1.5}");
        expect_named("whole number", TF "{\"0\": -1}");
        expect_named("whole number", TF "{\"0\": 1e9}");
        expect_named("whole number", TF "{\"0\": {\"1\": 2}}");
        expect_named("no limit", TF "{\"0\": 0}");
        expect_named("no limit", TF "{\"0\": 18446744073709551615}");
        expect_named("64 bits", TF "{\"0\": 18446744073709551616}");
        expect_named("named twice", TF "{\"0\": 1, \"0\": 1}");
        expect_named("is no GPU", TF "{\"zero\": 1}");
        expect_named("names no GPU", TF "{\"\": 1}");
        expect_named("broken", TF "{\"0\": 1} and more");
        expect_named("broken", TF "{\"0\": 1,}");
        expect_named("", TF "");
}

static void test_vgpu_rs_compute(void **state)
{
        expect_asked("memory=card;compute=GPU-3430f778-7a25-704c-9090-8b0bb2478114=10%",
                     "TENSOR_FUSION_CUDA_UP_LIMIT={\"" TF_UUID "\": 10}");
        expect_asked("memory=card;compute=0=100%,1=20%",
                     "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 150, \"1\": 20}");
        expect_named("no share", "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 0}");
        expect_named("JSON", "TENSOR_FUSION_CUDA_UP_LIMIT=20");
        expect_named("JSON", "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 100} x");
        expect_asked("memory=card", "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 100}");
        /* Said in our words, theirs is moot. */
        expect_asked("memory=card", "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 20}",
                     "ALIQUOT_COMPUTE=100");
}

#define VCUDA "VCUDA_MEMORY_LIMIT="

static void test_vcuda_hook(void **state)
{
        expect_asked("memory=10737418240", VCUDA "(1024 * 1024 * 1024 * 10)");
        expect_asked("memory=10737418240", VCUDA "10*1024*1024*1024");
        /* As the document has the line, and a file of variables would. */
        expect_asked("memory=10737418240", VCUDA "(1024 * 1024 * 1024 * 10) // limit 10G");
        expect_named("empty", VCUDA "// limit 10G");
        expect_named("expected", VCUDA "10 / 2");
        expect_asked("memory=10737418240", VCUDA "10GB");
        expect_asked("memory=10737418240", VCUDA "10gi");
        expect_asked("memory=10737418240", VCUDA "10737418240");
        expect_named("zero", VCUDA "0");
        expect_named("expected", VCUDA "1.5g");
        expect_named("expected", VCUDA "50%");
        expect_named("64 bits", VCUDA "(99999999999 * 99999999999)");
        expect_named("empty", VCUDA "");
        expect_asked("memory=card;name=Tesla X", "VCUDA_DEVICE_NAME=Tesla X");
        expect_asked("memory=card;name=Ours", "VCUDA_DEVICE_NAME=Tesla X",
                     "ALIQUOT_DEVICE_NAME=Ours");
}

static void test_vcuda_logs(void **state)
{
        struct settings settings;

        read_good(&settings, "VCUDA_LOG_LEVEL=trace", "VCUDA_LOG_SINK=file:/tmp/x");
        assert_int_equal(settings.log.level, LOG_DEBUG);
        assert_string_equal(settings.log.path, "/tmp/x");
        read_good(&settings, "VCUDA_LOG_LEVEL=critical", "VCUDA_LOG_SINK=file",
                  "VCUDA_LOG_FILE=/tmp/y");
        assert_int_equal(settings.log.level, LOG_ERROR);
        assert_string_equal(settings.log.path, "/tmp/y");
        read_good(&settings, "VCUDA_LOG_LEVEL=info", "VCUDA_LOG_SINK=none");
        assert_int_equal(settings.log.level, LOG_OFF);
        /* Standard output is the program's: such lines go to standard error. */
        read_good(&settings, "VCUDA_LOG_SINK=stdout");
        assert_int_equal(settings.log.level, LOG_INFO);
        assert_string_equal(settings.log.path, "");
        read_good(&settings, "VCUDA_LOG_LEVEL=debug", "ALIQUOT_LOG=warn");
        assert_int_equal(settings.log.level, LOG_WARN);
        expect_named("expected", "VCUDA_LOG_LEVEL=loud");
        expect_named("expected", "VCUDA_LOG_SINK=syslog");
        read_good(&settings, "GPUSLICE_DEBUG=1");
        assert_int_equal(settings.log.level, LOG_DEBUG);
}

static void test_hami(void **state)
{
        expect_asked("memory=3221225472", "CUDA_DEVICE_MEMORY_LIMIT=3g");
        expect_asked("memory=1=1073741824", "CUDA_DEVICE_MEMORY_LIMIT_1=1024m");
        expect_asked("memory=4294967296,0=1048576,12=5", "CUDA_DEVICE_MEMORY_LIMIT_12=5",
                     "CUDA_DEVICE_MEMORY_LIMIT=4G", "CUDA_DEVICE_MEMORY_LIMIT_0=1024k");
        expect_named("zero", "CUDA_DEVICE_MEMORY_LIMIT=0");
        expect_named("index", "CUDA_DEVICE_MEMORY_LIMIT_x=1g");
        expect_named("index", "CUDA_DEVICE_MEMORY_LIMIT_=1g");
        expect_named("index", "CUDA_DEVICE_MEMORY_LIMIT_-1=1g");
        expect_named("expected", "CUDA_DEVICE_MEMORY_LIMIT_0=1.5g");
        expect_asked("memory=card;compute=50%", "CUDA_DEVICE_SM_LIMIT=50");
        expect_asked("memory=card;compute=50%,1=100%", "CUDA_DEVICE_SM_LIMIT=50",
                     "CUDA_DEVICE_SM_LIMIT_1=0");
        expect_named("index", "CUDA_DEVICE_SM_LIMIT_x=50");
        expect_asked("memory=card;compute=50%", "CUDA_DEVICE_SM_LIMIT=50",
                     "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 100}", "ALIQUOT_COMPUTE=50");
        expect_named("different shares of compute", "CUDA_DEVICE_SM_LIMIT_0=50",
                     "TENSOR_FUSION_CUDA_UP_LIMIT={\"0\": 40}");
        expect_named("percentage", "CUDA_DEVICE_SM_LIMIT_0=half");
        expect_asked("memory=card", "CUDA_DEVICE_SM_LIMIT=100", "CUDA_DEVICE_SM_LIMIT_0=0",
                     "CUDA_DEVICE_SM_LIMIT_1=0120");
        expect_asked("memory=card", "CUDA_DEVICE_SM_LIMIT=50", "CUDA_DEVICE_SM_LIMIT_0=50",
                     "ALIQUOT_COMPUTE=100");
        /* A name that goes on is another name. */
        expect_asked("memory=card", "CUDA_DEVICE_MEMORY_LIMITATION=1",
                     "CUDA_DEVICE_ORDER=PCI_BUS_ID");
}

static void test_hamis_priority(void **state)
{
        struct settings settings;

        expect_asked("memory=card", "CUDA_TASK_PRIORITY=1");
        expect_named("need a daemon", "CUDA_TASK_PRIORITY=0");
        expect_named("expected 0", "CUDA_TASK_PRIORITY=2");
        expect_named("expected 0", "CUDA_TASK_PRIORITY=");
        expect_asked("memory=card", "CUDA_TASK_PRIORITY=0", "ALIQUOT_PRIORITY=normal");
        assert_int_equal(settings_read_flags(&settings, (char *[]){ "CUDA_TASK_PRIORITY=0", NULL },
                                             NULL, NULL),
                         0);
        assert_string_equal(settings.rank.priority, "rt");
        assert_int_equal(settings_read_flags(&settings, (char *[]){ "CUDA_TASK_PRIORITY=1", NULL },
                                             NULL, NULL),
                         0);
        assert_string_equal(settings.rank.priority, "");
        /* Its killer ends who is above the limit, and here nobody comes above it. */
        expect_asked("memory=1073741824", "ACTIVE_OOM_KILLER=true", "CUDA_DEVICE_MEMORY_LIMIT=1g");
}

/* What turns another system off turns nothing off beside a limit, and is no riddle without one. */
static void test_a_switch_that_lifts_limits_is_refused_beside_one(void **state)
{
        expect_asked("memory=card", "CUDA_DISABLE_CONTROL=true", "DISABLE_VGPU_CONTROL=1",
                     "DISABLE_GPU_LIMITER=true");
        expect_named("remove one of the two", "CUDA_DISABLE_CONTROL=true",
                     "CUDA_DEVICE_MEMORY_LIMIT=1g");
        expect_named("remove one of the two", "CUDA_DISABLE_CONTROL=T", "ALIQUOT_SESSION=s");
        expect_named("remove one of the two", "DISABLE_VGPU_CONTROL=TRUE", "CUDA_CORE_LIMIT=30");
        expect_named("remove one of the two", "DISABLE_GPU_LIMITER=true", "ALIQUOT_MEMORY=1GiB");
        expect_asked("memory=1073741824", "CUDA_DISABLE_CONTROL=false", "DISABLE_VGPU_CONTROL=0",
                     "DISABLE_GPU_LIMITER=false", "CUDA_DEVICE_MEMORY_LIMIT=1g");
        /* There as false as "false". */
        expect_asked("memory=1073741824", "CUDA_DISABLE_CONTROL=yes",
                     "CUDA_DEVICE_MEMORY_LIMIT=1g");
}

static void test_vgpu_manager(void **state)
{
        expect_asked("memory=2147483648;compute=30%", "CUDA_MEM_LIMIT=2048m", "CUDA_CORE_LIMIT=30");
        expect_asked("memory=1=1610612736", "CUDA_MEM_LIMIT_1=1.5g");
        expect_asked("memory=2199023255552", "CUDA_MEM_LIMIT=2T");
        expect_asked("memory=2147483648", "CUDA_MEM_LIMIT=2GB");
        expect_asked("memory=2147483648", "CUDA_MEM_LIMIT=2GiB");
        expect_asked("memory=4096", "CUDA_MEM_LIMIT=4096");
        expect_named("expected", "CUDA_MEM_LIMIT=2gigs");
        expect_named("expected", "CUDA_MEM_LIMIT=50%");
        expect_named("expected", "CUDA_MEM_LIMIT=-1");
        expect_named("zero", "CUDA_MEM_LIMIT=0");
        expect_named("expected", "CUDA_MEM_LIMIT_0=1.2.3g");
        expect_named("index", "CUDA_MEM_LIMIT_x=1g");
        expect_asked("memory=card;compute=50%,1=20%", "CUDA_CORE_LIMIT=50", "CUDA_CORE_LIMIT_1=20");
        expect_asked("memory=card", "CUDA_CORE_LIMIT=0", "CUDA_CORE_LIMIT_1=100");
        expect_named("percentage", "CUDA_CORE_LIMIT=half");
        expect_named("mean CUDA_MEM_LIMIT", "CUDA_MEM_LIMITS_0=1g");
        expect_named("mean CUDA_CORE_LIMIT", "CUDA_CORE_LIMT=30");
        /* As its plugin writes the variables of a container. */
        expect_asked("memory=1=2147483648;compute=1=40%", "CUDA_MEM_RATIO=1.00", "CUDA_CORE_LIMIT=",
                     "CUDA_CORE_SOFT_LIMIT=", "CUDA_MEM_LIMIT=", "CUDA_MEM_OVERSOLD=FALSE",
                     "CUDA_MEM_RATIO_1=1.00", "CUDA_MEM_OVERSOLD_1=FALSE", "CUDA_CORE_LIMIT_1=40",
                     "CUDA_CORE_SOFT_LIMIT_1=40", "CUDA_MEM_LIMIT_1=2048m");
        expect_named("different memory limits", "CUDA_MEM_LIMIT=1g", "CUDA_DEVICE_MEMORY_LIMIT=2g");
        expect_asked("memory=1073741824", "CUDA_MEM_LIMIT=1g", "CUDA_DEVICE_MEMORY_LIMIT=1024m");
        expect_named("different shares", "CUDA_CORE_LIMIT=30", "CUDA_DEVICE_SM_LIMIT=40");
}

static void test_a_ratio_of_the_cards_memory_is_refused(void **state)
{
        expect_named("not supported", "CUDA_MEM_RATIO=1.50");
        expect_named("not supported", "CUDA_MEM_RATIO_3=2");
        expect_named("not supported", "CUDA_MEM_RATIO=10", "CUDA_MEM_LIMIT=1g");
        expect_named("not supported", "CUDA_MEM_RATIO=1.000001");
        expect_named("expected a number", "CUDA_MEM_RATIO=twice");
        expect_named("expected a number", "CUDA_MEM_RATIO=-1");
        expect_asked("memory=card", "CUDA_MEM_RATIO=0.5", "CUDA_MEM_RATIO_0=", "CUDA_MEM_RATIO_1=1",
                     "CUDA_MEM_RATIO_2=01.");
}

static void test_what_vgpu_manager_lends(void **state)
{
        expect_asked("memory=card;oversubscribe=yes", "CUDA_MEM_OVERSOLD=true");
        expect_asked("memory=card;oversubscribe=yes", "CUDA_MEM_OVERSOLD_0=1");
        expect_asked("memory=1073741824", "CUDA_MEM_OVERSOLD=FALSE", "ALIQUOT_MEMORY=1GiB");
        expect_asked("memory=card", "CUDA_MEM_OVERSOLD=TRUE", "ALIQUOT_OVERSUBSCRIBE=0",
                     "ALIQUOT_SESSION=s");
        expect_asked("memory=card;oversubscribe=2147483648", "CUDA_MEM_OVERSOLD=TRUE",
                     "ALIQUOT_OVERSUBSCRIBE=2GiB");
        /* Its "balance" policy: as far as the card is free. */
        expect_refused("CUDA_CORE_SOFT_LIMIT_1", "CUDA_CORE_LIMIT_1", "CUDA_CORE_LIMIT_1=30",
                       "CUDA_CORE_SOFT_LIMIT_1=100");
        expect_refused("CUDA_CORE_SOFT_LIMIT", "soft limit", "CUDA_CORE_LIMIT=30",
                       "CUDA_CORE_SOFT_LIMIT_1=40");
        expect_refused("CUDA_CORE_SOFT_LIMIT", "soft limit", "CUDA_CORE_LIMIT_1=30",
                       "CUDA_CORE_SOFT_LIMIT=40");
        expect_asked("memory=card;compute=30%", "CUDA_CORE_LIMIT=30", "CUDA_CORE_SOFT_LIMIT=30",
                     "CUDA_CORE_SOFT_LIMIT_1=0");
        expect_asked("memory=card;compute=1=30%", "CUDA_CORE_LIMIT_1=30",
                     "CUDA_CORE_SOFT_LIMIT_0=90");
        expect_asked("memory=card", "CUDA_CORE_SOFT_LIMIT=90");
        expect_asked("memory=card;compute=20%", "CUDA_CORE_LIMIT=30", "CUDA_CORE_SOFT_LIMIT=90",
                     "ALIQUOT_COMPUTE=20");
}

static void test_xpushare(void **state)
{
        expect_asked("memory=4000000000", "XPUSHARE_GPU_MEMORY_LIMIT=4G");
        expect_asked("memory=4294967296", "XPUSHARE_GPU_MEMORY_LIMIT=4Gi");
        expect_asked("memory=1500000000", "XPUSHARE_GPU_MEMORY_LIMIT=1.5G");
        expect_asked("memory=123456", "XPUSHARE_GPU_MEMORY_LIMIT=123456");
        expect_named("expected", "XPUSHARE_GPU_MEMORY_LIMIT=50%");
        expect_asked("memory=card;oversubscribe=yes", "NVSHARE_ENABLE_SINGLE_OVERSUB=1");
        /* There it is on when it is set at all. */
        expect_asked("memory=card;oversubscribe=yes", "NVSHARE_ENABLE_SINGLE_OVERSUB=0");
        expect_asked("memory=1000;oversubscribe=yes", "XPUSHARE_ENABLE_SINGLE_OVERSUB=1",
                     "XPUSHARE_GPU_MEMORY_LIMIT=1000");
        expect_asked("memory=card", "NVSHARE_ENABLE_SINGLE_OVERSUB=1", "ALIQUOT_OVERSUBSCRIBE=0",
                     "ALIQUOT_SESSION=s");
        expect_asked("memory=4294967296;oversubscribe=yes", "CUDA_OVERSUBSCRIBE=true",
                     "CUDA_DEVICE_MEMORY_LIMIT=4g");
        expect_asked("memory=4294967296", "CUDA_OVERSUBSCRIBE=false",
                     "CUDA_DEVICE_MEMORY_LIMIT=4g");
}

static void test_gpuslice(void **state)
{
        struct settings settings;

        read_good(&settings, "GPUSLICE_SESSION=s-1", "GPUSLICE_IPC_SOCK=/run/a/aliquotd.sock");
        assert_true(settings.is_asked);
        assert_string_equal(settings.session, "s-1");
        assert_string_equal(settings.runtime_dir, "/run/a");
        read_good(&settings, "GPUSLICE_SESSION=s-1", "ALIQUOT_SESSION=s-2",
                  "GPUSLICE_IPC_SOCK=/run/a/aliquotd.sock", "ALIQUOT_RUNTIME_DIR=/run/b");
        assert_string_equal(settings.session, "s-2");
        assert_string_equal(settings.runtime_dir, "/run/b");
        expect_named("GPUSLICE_SESSION", "GPUSLICE_SESSION=a b");
        expect_named("aliquotd.sock", "GPUSLICE_IPC_SOCK=/run/gpuslice.sock");
        expect_named("aliquotd.sock", "GPUSLICE_IPC_SOCK=/aliquotd.sock");
        expect_named("aliquotd.sock", "GPUSLICE_IPC_SOCK=aliquotd.sock");
        expect_named("aliquotd.sock", "GPUSLICE_IPC_SOCK=");
        /* The time of a session is a daemon's to keep; a command that can ask one may say it. */
        expect_named("only a daemon", "GPUSLICE_DEFAULT_TTL=120");
        assert_int_equal(settings_read_flags(&settings,
                                             (char *[]){ "GPUSLICE_DEFAULT_TTL=120", NULL }, NULL,
                                             NULL),
                         0);
        assert_int_equal(settings.ttl_ns, UINT64_C(120000000000));
        expect_asked("memory=card", "GPUSLICE_DEFAULT_TTL=120", "ALIQUOT_TTL=none");
        /* Whether a token is required is the daemon's word, and what the dead held is free at once.
         */
        expect_asked("memory=card", "GPUSLICE_IPC_TOKEN=hunter2", "GPUSLICE_IPC_TOKEN_REQUIRED=1",
                     "GPUSLICE_RECOVERY_INTERVAL=5", "GPUSLICE_METRICS_DEBUG=1");
        read_good(&settings, "GPUSLICE_IPC_SOCK=/run/a/sessions/b/socket",
                  "GPUSLICE_IPC_TOKEN=hunter2");
        assert_true(settings.is_asked);
        assert_string_equal(settings.socket, "/run/a/sessions/b/socket");
        assert_string_equal(settings.token, "hunter2");
        assert_string_equal(settings.runtime_dir, "");
}

static void test_two_that_disagree_are_refused(void **state)
{
        expect_asked("memory=1073741824", "VCUDA_MEMORY_LIMIT=1g",
                     "CUDA_DEVICE_MEMORY_LIMIT=1024m");
        expect_asked("memory=0=5", TF "{\"0\":5}", "CUDA_DEVICE_MEMORY_LIMIT_0=5");
        expect_named("different", "VCUDA_MEMORY_LIMIT=1g", "CUDA_DEVICE_MEMORY_LIMIT=2g");
        expect_named("different", "VCUDA_MEMORY_LIMIT=1g", TF "{\"0\":1073741824}");
        expect_named("different", "CUDA_DEVICE_MEMORY_LIMIT=1g", "XPUSHARE_GPU_MEMORY_LIMIT=1G");
        /* Unless we are told which. */
        expect_asked("memory=7", "VCUDA_MEMORY_LIMIT=1g", "CUDA_DEVICE_MEMORY_LIMIT=2g",
                     "ALIQUOT_MEMORY=7");
}

/* A program whose limit is misspelled would run without one. */
static void test_a_name_two_letters_from_a_limits_is_refused(void **state)
{
        expect_named("TENSOR_FUSION_CUDA_MEM_LIMIT", "TENSOR_FUSION_CUDA_MEM_LIMT={\"0\":1}");
        expect_named("TENSOR_FUSION_CUDA_MEM_LIMIT", "TENSORFUSION_CUDA_MEM_LIMIT={\"0\":1}");
        expect_named("TENSOR_FUSION_CUDA_MEM_LIMIT", "TENSOR_FUSION_CUDA_MEMORY_LIMIT={\"0\":1}");
        expect_named("TENSOR_FUSION_CUDA_UP_LIMIT", "TENSOR_FUSION_CUDA_PU_LIMIT={\"0\":1}");
        expect_named("mean CUDA_DEVICE_MEMORY_LIMIT", "CUDA_DEVICE_MEMORY_LIMITS=1g");
        expect_named("mean CUDA_DEVICE_MEMORY_LIMIT", "CUDA_DEVICE_MEMORY_LIMITS_0=1g");
        expect_named("mean CUDA_DEVICE_MEMORY_LIMIT", "CUDA_DEVICE_MEM_LIMIT_1=1g");
        expect_named("mean CUDA_DEVICE_SM_LIMIT", "CUDA_DEVIC_SM_LIMIT_0=50");
        expect_named("mean VCUDA_MEMORY_LIMIT", "VCUDA_MEM_LIMIT=1g");
        expect_named("mean VCUDA_MEMORY_LIMIT", "vcuda_memory_limit=1g");
        expect_named("mean VCUDA_MEMORY_LIMIT", "VCUDA_MEMORY_LIMT=");
        expect_named("mean XPUSHARE_GPU_MEMORY_LIMIT", "XPU_SHARE_GPU_MEMORY_LIMIT=1Gi");
        expect_named("mean XPUSHARE_GPU_MEMORY_LIMIT", "NVSHARE_GPU_MEMORY_LIMIT=1Gi");
        expect_named("mean XPUSHARE_GPU_MEMORY_LIMIT", "XPUSHARE_MEMORY_LIMIT=1Gi");
        expect_named("mean GPUSLICE_SESSION", "GPUSLICE_SESION=s");
        expect_named("mean ALIQUOT_MEMORY", "ALIQOUT_MEMORY=1GiB");
        expect_named("mean ALIQUOT_SESSION", "AL1QUOT_SESSION=s");
        /* An index where that system has none limits nothing there either. */
        expect_named("mean VCUDA_MEMORY_LIMIT", "VCUDA_MEMORY_LIMIT_0=1g");
        /* Beside a limit that is spelled well too. */
        expect_named("mean VCUDA_MEMORY_LIMIT", "VCUDA_MEMORY_LIMT=1g", "ALIQUOT_MEMORY=1GiB");
}

/* NVIDIA's own names, those of frameworks, and what other systems have beside limits. */
static void test_names_that_limit_nothing_are_left_alone(void **state)
{
        expect_asked("memory=card", "CUDA_VISIBLE_DEVICES=0", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                     "CUDA_DEVICE_MAX_CONNECTIONS=8", "CUDA_LAUNCH_BLOCKING=1",
                     "CUDA_MODULE_LOADING=LAZY", "CUDA_CACHE_MAXSIZE=1", "CUDA_CACHE_PATH=/x",
                     "CUDA_CACHE_DISABLE=1", "CUDA_FORCE_PTX_JIT=1", "CUDA_DISABLE_PTX_JIT=1",
                     "CUDA_FORCE_JIT=1", "CUDA_AUTO_BOOST=0", "CUDA_MANAGED_FORCE_DEVICE_ALLOC=1",
                     "CUDA_MPS_PIPE_DIRECTORY=/x", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G",
                     "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", "CUDA_DEVICE_WAITS_ON_EXCEPTION=1",
                     "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1", "CUDA_SCALE_LAUNCH_QUEUES=1x",
                     "CUDA_HOME=/usr/local/cuda", "CUDA_VERSION=13.0",
                     "CUDA_BINARY_LOADER_THREAD_COUNT=1", "CUDA_GRAPHS_USE_NODE_PRIORITY=1");
        expect_asked("memory=card", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=x",
                     "NVIDIA_REQUIRE_CUDA=cuda>=12", "NCCL_DEBUG=INFO", "PYTORCH_CUDA_ALLOC_CONF=x",
                     "TF_FORCE_GPU_ALLOW_GROWTH=true", "XLA_PYTHON_CLIENT_MEM_FRACTION=.5",
                     "OMP_NUM_THREADS=1", "_=/bin/x", "CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/x",
                     "LIBCUDA_LOG_LEVEL=1", "=", "", "XPUSHARE_DEBUG=1", "NVSHARE_DEBUG=1",
                     "GPUSLICE_METRICS_DEBUG=1", "TF_VISIBLE_DEVICES=x", "MEMORY_LIMIT=1g",
                     "SESSION=x", "GPU=0");
}

static int put_bytes(uint64_t number, struct size *ret, struct error *err)
{
        ret->bytes = number;
        return 0;
}

static void test_what_is_refused_leaves_the_rules_as_they_were(void **state)
{
        static const char *const wrong[] = { "{\"0\": 5, \"1\": -1}", "{\"0\": 5} x",
                                             "{\"0\": 5, \"\": 5}", "{\"0\": 5" };
        char *const environment[] = { "N_0=5GiB", "N_x=5GiB", NULL };
        const struct reading reading = { .environment = environment };
        const struct indexed_name indexed = { "N", size_parse };
        struct settings_rules rules = { 0 }, before = { 0 };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                assert_true(rules_parse_json(wrong[i], put_bytes, &rules, NULL) < 0);
                assert_memory_equal(&rules, &before, sizeof(rules));
        }
        assert_int_equal(rules_read_indexed(&reading, &indexed, &rules, NULL), -EINVAL);
        assert_memory_equal(&rules, &before, sizeof(rules));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vgpu_rs),
                cmocka_unit_test(test_vgpu_rs_compute),
                cmocka_unit_test(test_vcuda_hook),
                cmocka_unit_test(test_vcuda_logs),
                cmocka_unit_test(test_hami),
                cmocka_unit_test(test_hamis_priority),
                cmocka_unit_test(test_a_switch_that_lifts_limits_is_refused_beside_one),
                cmocka_unit_test(test_vgpu_manager),
                cmocka_unit_test(test_a_ratio_of_the_cards_memory_is_refused),
                cmocka_unit_test(test_what_vgpu_manager_lends),
                cmocka_unit_test(test_xpushare),
                cmocka_unit_test(test_gpuslice),
                cmocka_unit_test(test_two_that_disagree_are_refused),
                cmocka_unit_test(test_a_name_two_letters_from_a_limits_is_refused),
                cmocka_unit_test(test_names_that_limit_nothing_are_left_alone),
                cmocka_unit_test(test_what_is_refused_leaves_the_rules_as_they_were),
        };

        return cmocka_run_group_tests_name("aliases", tests, NULL, NULL);
}
