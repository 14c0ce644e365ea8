/** The command palette, which opens with Ctrl-K or ⌘K. */
import type { WorkloadSummary } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useEffect, useId, useMemo, useRef, useState } from "react";
import type { KeyboardEvent, ReactElement } from "react";
import { nodeConsequence, nodeWords, phasesOf, workloadConsequence, workloadWords } from "../commands/commands.ts";
import { useNodeCommand, useWorkloadCommand } from "../commands/use-commands.ts";
import { demoAddress } from "../connect/connect.ts";
import { useClient, useSession } from "../connect/session.ts";
import { nodesQuery } from "../data/queries.ts";
import { Confirm, Popup } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { setTheme } from "../theme/theme.ts";
import { usePlaces } from "./place-counts.ts";
import {
  foundItems,
  isWorkloadVerb,
  matchesWords,
  paletteQuery,
  WORKLOADS_SHOWN_MAX,
  type AskedCommand,
  type PaletteItem,
} from "./palette-items.ts";

interface PaletteProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onHelp: () => void;
}

export function Palette({ isOpen, onClose, onHelp }: PaletteProps): ReactElement {
  // The command stays after the answer, so that the question keeps its text while it fades.
  const [asked, setAsked] = useState<AskedCommand | null>(null);
  const [isAsking, setIsAsking] = useState(false);
  const ask = (command: AskedCommand): void => {
    setAsked(command);
    setIsAsking(true);
  };
  return (
    <>
      <Popup isOpen={isOpen} onClose={onClose} title="Search or run a command" isTitleHidden>
        {isOpen ? <PaletteBody onClose={onClose} onHelp={onHelp} onAsk={ask} /> : null}
      </Popup>
      {asked === null ? null : <Question command={asked} isOpen={isAsking} onClose={() => setIsAsking(false)} />}
    </>
  );
}

interface QuestionProps {
  readonly command: AskedCommand;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Every command of the palette is confirmed, because Enter on a wrong line is one key. */
function Question({ command, isOpen, onClose }: QuestionProps): ReactElement {
  const workloadCommand = useWorkloadCommand();
  const nodeCommand = useNodeCommand();
  const [words, name, consequence] =
    command.of === "workload"
      ? [workloadWords[command.verb], command.workload.name, workloadConsequence(command.verb, command.workload)]
      : [nodeWords[command.verb], command.node, nodeConsequence[command.verb]];
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      onConfirm={() => (command.of === "workload" ? workloadCommand.mutate(command) : nodeCommand.mutate(command))}
      title={`${words.label} ${name}?`}
      action={words.label}
      isDangerous={command.verb === "stop"}
    >
      {consequence}
    </Confirm>
  );
}

/** Maximum age in ms of the nodes' names. Nodes change rarely. */
const NODES_FRESH_MS = 30_000;

interface BodyProps extends Omit<PaletteProps, "isOpen"> {
  readonly onAsk: (command: AskedCommand) => void;
}

function PaletteBody({ onClose, onHelp, onAsk }: BodyProps): ReactElement {
  const [query, setQuery] = useState("");
  const items = usePaletteItems(query, { onClose, onHelp, onAsk });
  const [chosen, setChosen] = useState(0);
  const index = Math.min(chosen, items.length - 1);
  const listId = useId();
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [index, items]);
  const run = (item: PaletteItem | undefined): void => {
    if (item === undefined) return;
    onClose();
    item.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && items.length > 0) setChosen((index + step + items.length) % items.length);
    else if (event.key === "Enter") run(items[index]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className="flex items-center gap-2.5 border-b border-line px-4 text-ink-3">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Search or run a command"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={items[index] === undefined ? undefined : `${listId}-${index}`}
          placeholder="A page, a workload, a node, or stop, hold, drain … and a name"
          autoComplete="off"
          spellCheck={false}
          className="h-12 flex-1 bg-transparent text-base text-ink outline-none"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <ul
        ref={list}
        id={listId}
        role="listbox"
        aria-label="Results"
        className="scroll-thin min-h-0 overflow-y-auto p-1.5"
      >
        {items.map((item, position) => (
          <PaletteRow
            key={item.id}
            id={`${listId}-${position}`}
            item={item}
            isChosen={position === index}
            startsGroup={items[position - 1]?.group !== item.group}
            onRun={() => run(item)}
          />
        ))}
        {items.length === 0 ? <li className="px-3 py-6 text-center text-ink-2">No match.</li> : null}
      </ul>
    </>
  );
}

interface PaletteRowProps {
  readonly id: string;
  readonly item: PaletteItem;
  readonly isChosen: boolean;
  readonly startsGroup: boolean;
  readonly onRun: () => void;
}

function PaletteRow({ id, item, isChosen, startsGroup, onRun }: PaletteRowProps): ReactElement {
  return (
    <>
      {startsGroup ? (
        <li role="presentation" className="px-2.5 pt-2 pb-1 text-2xs font-medium text-ink-3">
          {item.group}
        </li>
      ) : null}
      {/* Keys act on the input above, which has the focus. */}
      {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- see the line above. */}
      <li
        id={id}
        role="option"
        aria-selected={isChosen}
        onClick={onRun}
        className="flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 hover:bg-hover aria-selected:bg-accent-soft"
      >
        <span className="text-ink-3">
          <Icon name={item.icon} />
        </span>
        <span className="truncate">{item.label}</span>
        <span className="ml-auto truncate pl-4 text-xs text-ink-2">{item.detail}</span>
      </li>
    </>
  );
}

/** Workloads whose name matches; with a verb, those to which it can apply. */
function useFoundWorkloads(text: string): readonly WorkloadSummary[] {
  const client = useClient();
  const { verb, name } = paletteQuery(text);
  const search = name === "" ? undefined : name;
  const phase = isWorkloadVerb(verb) ? phasesOf(verb) : undefined;
  const { data } = useQuery({
    queryKey: ["palette", verb ?? "", name],
    queryFn: ({ signal }) => client.listWorkloads({ search, phase, limit: WORKLOADS_SHOWN_MAX }, { signal }),
    enabled: text !== "",
    placeholderData: (before) => before,
  });
  return data?.items ?? [];
}

function usePaletteItems(query: string, { onClose, onHelp, onAsk }: BodyProps): readonly PaletteItem[] {
  const { client, demo } = useSession();
  const navigate = useNavigate();
  const places = usePlaces();
  const text = useDeferredValue(query.trim());
  const workloads = useFoundWorkloads(text);
  const { data: nodes } = useQuery({ ...nodesQuery(client), enabled: text !== "", staleTime: NODES_FRESH_MS });
  const fixed = useMemo((): readonly PaletteItem[] => {
    const action = (label: string, icon: PaletteItem["icon"], run: () => void): PaletteItem => ({
      id: `do ${label}`,
      group: "Do",
      icon,
      label,
      detail: "",
      run,
    });
    return [
      ...places.map(({ to, label, icon, key }): PaletteItem => ({
        id: `go ${to}`,
        group: "Go to",
        icon,
        label,
        detail: `g ${key}`,
        run: () => void navigate({ to }),
      })),
      action("Submit a workload", "plus", () => void navigate({ to: "/workloads/new" })),
      action("Light colours", "sun", () => setTheme("light")),
      action("Dark colours", "moon", () => setTheme("dark")),
      action("Colours as the system", "system", () => setTheme("system")),
      action("Keyboard shortcuts", "keyboard", () => {
        onClose();
        onHelp();
      }),
      ...(demo === null
        ? [action("Open the demo", "play", () => window.location.assign(demoAddress))]
        : [action("Pause or resume the simulation", "pause", () => demo.setPaused(!demo.state.isPaused))]),
    ];
  }, [places, navigate, demo, onClose, onHelp]);
  return [
    ...fixed.filter((item) => matchesWords(query.trim(), item)),
    ...foundItems(query, {
      workloads,
      nodes: nodes ?? [],
      openWorkload: (workloadId) => void navigate({ to: "/workloads/$workloadId", params: { workloadId } }),
      openNode: (node) => void navigate({ to: "/", search: { node } }),
      ask: onAsk,
    }),
  ];
}
