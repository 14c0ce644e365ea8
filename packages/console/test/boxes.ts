/** Compares the boxes of a page's texts: which overlap, which are cut, and whether the page scrolls sideways. */
import type { Page } from "playwright-core";

/** Sentences about what is wrong with the layout of the page on screen; empty: nothing is. */
export function layoutFaults(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    interface Box {
      readonly element: Element;
      readonly text: string;
      readonly left: number;
      readonly right: number;
      readonly top: number;
      readonly bottom: number;
    }
    /** Pixels by which boxes may touch: glyphs are higher than their letters, and positions are rounded. */
    const NEAR_PX = 3;
    const faults = new Set<string>();
    const short = (text: string): string => text.trim().replaceAll(/\s+/g, " ").slice(0, 60);

    /** Texts for screen readers only have a box of one pixel. */
    const isForReadersOnly = (element: Element): boolean => {
      for (let each: Element | null = element; each !== null; each = each.parentElement)
        if (each.classList.contains("sr-only") || each.getAttribute("inert") !== null) return true;
      return false;
    };

    const isClipping = ({ overflowX, overflowY }: CSSStyleDeclaration): boolean =>
      overflowX !== "visible" || overflowY !== "visible";

    /** The part of a rectangle that its ancestors do not clip; `null`: none of it is on screen. */
    const seen = (element: Element, rect: DOMRect): Omit<Box, "element" | "text"> | null => {
      let { left, right, top, bottom } = rect;
      for (let each: Element | null = element; each !== null; each = each.parentElement) {
        const style = getComputedStyle(each);
        if (isClipping(style)) {
          const clip = each.getBoundingClientRect();
          left = Math.max(left, clip.left);
          right = Math.min(right, clip.right);
          top = Math.max(top, clip.top);
          bottom = Math.min(bottom, clip.bottom);
        }
        if (style.position === "fixed") break;
      }
      return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom } : null;
    };

    const boxes: Box[] = [];
    const parents = new Set<Element>();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent ?? "";
      if (element === null || text.trim() === "" || element.closest("option,script,noscript") !== null) continue;
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (isForReadersOnly(element)) continue;
      parents.add(element);
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        const part = seen(element, rect);
        if (part !== null) boxes.push({ element, text: short(text), ...part });
      }
    }
    for (const element of document.querySelectorAll("input:not([type=radio]),select,textarea")) {
      if (isForReadersOnly(element) || !element.checkVisibility()) continue;
      const part = seen(element, element.getBoundingClientRect());
      if (part !== null) boxes.push({ element, text: element.getAttribute("aria-label") ?? element.id, ...part });
    }

    /** Layers above the page, such as a sticky heading over rows: one of two boxes is there on purpose. */
    const layerOf = (element: Element): Element | null => {
      for (let each: Element | null = element; each !== null; each = each.parentElement)
        if (["fixed", "sticky"].includes(getComputedStyle(each).position)) return each;
      return null;
    };
    boxes.sort((left, right) => left.top - right.top);
    for (const [index, one] of boxes.entries()) {
      for (const other of boxes.slice(index + 1)) {
        if (other.top >= one.bottom - NEAR_PX) break;
        const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (wide <= NEAR_PX || high <= NEAR_PX || one.element === other.element) continue;
        // A search icon lies in its input, a label of a chart in the chart.
        if (one.element.contains(other.element) || other.element.contains(one.element)) continue;
        if (layerOf(one.element) !== layerOf(other.element)) continue;
        faults.add(`"${one.text}" overlaps "${other.text}"`);
      }
    }

    /** A cut text must be readable elsewhere: by pointing at it. */
    const hasTitle = (element: Element, text: string): boolean => {
      const title = element.closest("[title]")?.getAttribute("title") ?? "";
      return title.includes(text.trim().replaceAll(/\s+/g, " "));
    };
    for (const element of parents) {
      for (let each: Element | null = element; each !== null && each !== document.body; each = each.parentElement) {
        const style = getComputedStyle(each);
        const isCutSideways = style.overflowX === "hidden" || style.overflowX === "clip";
        const isCutBelow = style.overflowY === "hidden" || style.overflowY === "clip";
        if (!isCutSideways && !isCutBelow) continue;
        if (each.clientWidth === 0) break;
        const range = document.createRange();
        range.selectNodeContents(element);
        const rect = range.getBoundingClientRect();
        const clip = each.getBoundingClientRect();
        const isCut =
          (isCutSideways && (rect.right > clip.right + NEAR_PX || rect.left < clip.left - NEAR_PX)) ||
          (isCutBelow && (rect.bottom > clip.bottom + NEAR_PX || rect.top < clip.top - NEAR_PX));
        const text = element.textContent ?? "";
        if (isCut && !hasTitle(element, text)) faults.add(`"${short(text)}" is cut`);
        if (isCut) break;
        // The frame around a scrolling element does not cut its text.
        if (style.overflowX === "auto" || style.overflowY === "auto") break;
      }
    }
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > window.innerWidth) faults.add(`the page is ${scrollWidth - window.innerWidth} px too wide`);
    return [...faults];
  });
}
