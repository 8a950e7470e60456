// What the theme leaves out for those who use a keyboard or a screen reader.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");

// Code that is wider than the page is scrolled with the arrow keys, so it has to be reachable.
// The theme sees to that only for those who have a mouse, and takes the attribute away from others.
function reach({ target }) {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
}
const sizes = new ResizeObserver((entries) => setTimeout(() => entries.forEach(reach)));
for (const one of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) sizes.observe(one);
