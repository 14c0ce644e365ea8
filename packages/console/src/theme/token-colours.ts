/** The colours of the stylesheet for canvases, as the active theme defines them. */
import { useSyncExternalStore } from "react";
import { currentTheme, subscribeTheme } from "./theme.ts";

/** The value of `useThemeName`. It changes whenever the colours do. */
export function useThemeName(): string {
  return useSyncExternalStore(subscribeTheme, () => {
    const isDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const chosen = currentTheme();
    return chosen === "system" ? (isDark ? "dark" : "light") : chosen;
  });
}

/** The browser resolves `light-dark()` only where a colour is used, so an element of the page uses the colour here. */
export function tokenColours<Name extends string>(
  host: Element,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const probe = document.createElement("span");
  probe.hidden = true;
  host.append(probe);
  const entries = names.map((name) => {
    probe.style.color = `var(--color-${name})`;
    return [name, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(entries) as Record<Name, string>;
}
