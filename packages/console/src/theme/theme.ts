/**
 * Dark or light theme: the system's setting until the user chooses. `public/theme.js` reads the same key before the
 * first paint.
 */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const KEY = "headroom.theme";
const listeners = new Set<() => void>();

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function setTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // The browser's storage is not available, so the choice holds until the page is closed.
  }
  for (const listener of listeners) listener();
}

/** Reports changes of the colours, by the user or the system. Canvases must then be redrawn. */
export function subscribeTheme(listener: () => void): () => void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}
