// What the theme leaves out for those who use a keyboard or a screen reader.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");

// Code that is wider than the page is scrolled with the arrow keys, so it has to be reachable.
// The theme sees to that only for those who have a mouse, and takes the attribute away from others.
function reach({ target }) {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
}
const sizes = new ResizeObserver((entries) => setTimeout(() => entries.forEach(reach)));
const WIDE = ".md-typeset pre > code, .md-typeset__scrollwrap";
function watch(part) {
  if (part.matches?.(WIDE)) sizes.observe(part);
  for (const one of part.querySelectorAll?.(WIDE) ?? []) sizes.observe(one);
}
watch(document);
// The theme puts tables into something that scrolls only later.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) addedNodes.forEach(watch);
}).observe(document.querySelector("article") ?? document.body, { childList: true, subtree: true });
