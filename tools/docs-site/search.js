// SPDX-License-Identifier: Apache-2.0
// The search of the documentation's site: all in the page, so that it works without a server. hooks.py puts lunr.js
// and `search_index` in front of this; the theme sets `base_url` and has the elements named here.
const documents = {};
const index = lunr(function () {
        this.ref("location");
        this.field("title", { boost: 10 });
        this.field("text");
        for (const page of search_index.docs) {
                documents[page.location] = page;
                this.add(page);
        }
});

function append(parent, tag, text) {
        const element = document.createElement(tag);
        element.textContent = text;
        return parent.appendChild(element);
}

// Words of the query that are begun match as well; a query that lunr cannot read finds nothing.
function find(query) {
        const words = query.split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
        return words.length === 0 ? [] : index.search(words.map((word) => `+${word} +${word}*`.replace(/^\S+ /, "")).join(" "));
}

function show(query) {
        const results = document.getElementById("mkdocs-search-results");
        results.replaceChildren();
        const found = find(query).slice(0, 50);
        for (const match of found) {
                const page = documents[match.ref];
                const article = append(results, "article", "");
                const link = append(append(article, "h3", ""), "a", page.title);
                link.href = base_url.replace(/\/?$/, "/") + page.location;
                append(article, "p", page.text.slice(0, 200));
        }
        if (found.length === 0)
                append(results, "p", "No page has all these words.");
}

const input = document.getElementById("mkdocs-search-query");
if (input) {
        input.addEventListener("keyup", () => show(input.value));
        input.value = new URLSearchParams(location.search).get("q") || "";
        if (input.value)
                show(input.value);
}
