/** The stylesheet's colours for canvases, resolved for the active theme. */
import { useSyncExternalStore } from "react";
import { currentTheme, subscribeTheme } from "./theme.ts";

/** The value of `useThemeName`: changes whenever the colours do. */
export function useThemeName(): string {
  return useSyncExternalStore(subscribeTheme, () => {
    const isDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const chosen = currentTheme();
    return chosen === "system" ? (isDark ? "dark" : "light") : chosen;
  });
}

/** `light-dark()` is resolved only where a colour is used, so a probe uses it. */
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
