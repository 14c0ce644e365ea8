import { useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import { IconButton } from "../parts/button.tsx";
import { currentTheme, setTheme, subscribeTheme, themes, type Theme } from "../theme/theme.ts";

const looks: Readonly<Record<Theme, { readonly icon: "system" | "sun" | "moon"; readonly name: string }>> = {
  system: { icon: "system", name: "as the system" },
  light: { icon: "sun", name: "light" },
  dark: { icon: "moon", name: "dark" },
};

export function ThemeSwitch(): ReactElement {
  const theme = useSyncExternalStore(subscribeTheme, currentTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
  return (
    <IconButton
      icon={looks[theme].icon}
      label={`Colours: ${looks[theme].name}. Change to ${looks[next].name}.`}
      onClick={() => setTheme(next)}
    />
  );
}
