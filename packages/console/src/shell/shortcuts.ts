/**
 * Single-key shortcuts. They can be switched off (WCAG 2.1.4), and never act while the user types or a dialog is open.
 */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { allPlaces } from "./nav.ts";

export interface ShortcutActions {
  openPalette(): void;
  openHelp(): void;
}

const KEY = "headroom.shortcuts";
/** Time in ms within which the second key after `g` must follow. */
const CHORD_MS = 1_500;

export function areShortcutsOn(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

export function setShortcutsOn(isOn: boolean): void {
  try {
    if (isOn) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, "off");
  } catch {
    // The browser's storage is not available, so the shortcuts keep their default.
  }
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input:not([type=radio]),textarea,select,[contenteditable]") !== null
  );
}

export const isApple = (): boolean => navigator.userAgent.includes("Mac");

export function useShortcuts(actions: ShortcutActions): void {
  const navigate = useNavigate();
  const chordAtMs = useRef(Number.NEGATIVE_INFINITY);
  const actionsNow = useRef(actions);
  useEffect(() => {
    actionsNow.current = actions;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isPalette = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k";
      if (isPalette) {
        event.preventDefault();
        actionsNow.current.openPalette();
        return;
      }
      const isOurs = !event.ctrlKey && !event.metaKey && !event.altKey && areShortcutsOn() && !event.defaultPrevented;
      if (!isOurs || isTyping(event.target) || document.querySelector("[role=dialog],[role=alertdialog]") !== null)
        return;
      const place =
        event.timeStamp - chordAtMs.current < CHORD_MS ? allPlaces.find(({ key }) => key === event.key) : undefined;
      chordAtMs.current = event.key === "g" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (place !== undefined) void navigate({ to: place.to });
      else if (event.key === "?") actionsNow.current.openHelp();
      else if (event.key === "n") void navigate({ to: "/workloads/new" });
      else if (event.key !== "/" || !focusSearch()) return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [navigate]);
}

function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>("[data-page-search]");
  search?.focus();
  search?.select();
  return search !== null;
}
