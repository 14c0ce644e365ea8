import { useState } from "react";
import type { ReactElement } from "react";
import { Popup } from "../parts/dialog.tsx";
import { usePlaces } from "./place-counts.ts";
import { areShortcutsOn, isApple, setShortcutsOn } from "./shortcuts.ts";

function Keys({ keys }: { readonly keys: readonly string[] }): ReactElement {
  return (
    <span className="flex gap-1">
      {keys.map((key) => (
        <kbd
          key={key}
          className="min-w-6 rounded-sm border border-line-strong bg-sunken px-1.5 text-center font-mono text-xs text-ink-2"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}

export function Help({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement {
  const places = usePlaces();
  const [isOn, setIsOn] = useState(areShortcutsOn);
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ["Go anywhere, do anything", [isApple() ? "⌘" : "Ctrl", "K"]],
    ["Search on this page", ["/"]],
    ["New workload", ["n"]],
    ...places.map(({ label, key }) => [label, ["g", key]] as const),
    ["Move in tables and on the fleet map", ["↑", "↓"]],
    ["This list", ["?"]],
  ];
  const change = (isNowOn: boolean): void => {
    setShortcutsOn(isNowOn);
    setIsOn(isNowOn);
  };
  return (
    <Popup isOpen={isOpen} onClose={onClose} title="Keyboard">
      <div className="scroll-thin overflow-y-auto p-4">
        <dl className="grid grid-cols-[1fr_auto] gap-y-2">
          {lines.map(([what, keys]) => (
            <div key={what} className="contents">
              <dt className="text-ink-2">{what}</dt>
              <dd>
                <Keys keys={keys} />
              </dd>
            </div>
          ))}
        </dl>
        <label className="mt-4 flex items-center gap-2 border-t border-line pt-3">
          <input
            type="checkbox"
            className="accent-accent"
            checked={isOn}
            onChange={(event) => change(event.target.checked)}
          />
          Single keys act as shortcuts
        </label>
      </div>
    </Popup>
  );
}
