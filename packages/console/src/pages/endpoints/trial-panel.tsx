/** Sends single requests to an endpoint and shows the answers. */
import type { Endpoint, Trial, TrialRequest } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { ReactElement, FormEvent } from "react";
import { useClient } from "../../connect/session.ts";
import { Button } from "../../parts/button.tsx";
import { Segments, Select } from "../../parts/controls.tsx";
import { Panel } from "../../parts/page.tsx";
import { Failure } from "../../parts/states.tsx";
import { latencyText } from "./endpoint-texts.tsx";

const formOptions = [
  { value: "completion", label: "continue a text" },
  { value: "chat", label: "answer a message" },
] as const;
const lengthOptions = ["32", "128", "512", "2048"].map((value) => ({ value, label: `at most ${value} tokens` }));

export function TrialPanel({ endpoint }: { readonly endpoint: Endpoint }): ReactElement {
  const client = useClient();
  const [prompt, setPrompt] = useState("");
  const [form, setForm] = useState<TrialRequest["form"]>("completion");
  const [maxTokens, setMaxTokens] = useState("128");
  const [sent, setSent] = useState<AbortController | null>(null);
  useEffect(() => () => sent?.abort(), [sent]);
  const ask = useMutation({
    mutationFn: (signal: AbortSignal) => {
      const request = { prompt, form, maxTokens: Number(maxTokens) };
      return client.tryEndpoint(endpoint.workloadId, request, { signal });
    },
  });
  const send = (): void => {
    const next = new AbortController();
    setSent(next);
    ask.mutate(next.signal);
  };
  const isWaking = ask.isPending && endpoint.replicas.ready === 0;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (prompt !== "" && !ask.isPending) send();
  };
  const isCancelled = ask.error !== null && sent?.signal.aborted === true;
  return (
    <Panel title="Try it">
      <form className="flex flex-col gap-3 px-4 py-3" onSubmit={submit}>
        <textarea
          aria-label="Prompt"
          rows={3}
          maxLength={16_384}
          placeholder={
            form === "chat" ? "A message to the model" : "A text that the model continues, such as: import {"
          }
          className="w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 font-mono text-sm hover:border-ink-3"
          value={prompt}
          onChange={(event) => setPrompt(event.target.value)}
        />
        <div className="flex flex-wrap items-center gap-3">
          <Segments
            label="Form of the request"
            name="trial-form"
            value={form}
            options={formOptions}
            onValue={setForm}
          />
          <Select label="Length of the answer" value={maxTokens} options={lengthOptions} onValue={setMaxTokens} />
          <Button look="primary" type="submit" disabled={prompt === "" || ask.isPending}>
            {ask.isPending ? "Waiting" : "Send"}
          </Button>
          {ask.isPending ? <Button onClick={() => sent?.abort()}>Cancel</Button> : null}
          <span className="text-ink-2">Counts to the limits of team {endpoint.team}.</span>
        </div>
      </form>
      <div aria-live="polite" aria-busy={ask.isPending}>
        {isWaking ? (
          <p className="px-4 pb-3 text-ink-2">
            No replica is ready. The request waits in the gateway for the first one.
          </p>
        ) : null}
        {ask.error !== null && !isCancelled ? <Failure error={ask.error} onRetry={send} /> : null}
        {ask.data === undefined ? null : <Answer trial={ask.data} />}
      </div>
    </Panel>
  );
}

function Answer({ trial }: { readonly trial: Trial }): ReactElement {
  const { text, firstTokenMs, totalMs, inputTokens, outputTokens, finish, requestId } = trial;
  const facts = [
    ...(firstTokenMs === null ? [] : [`first token after ${latencyText(firstTokenMs)}`]),
    `${latencyText(totalMs)} in all`,
    ...(inputTokens === null ? [] : [`${plural(inputTokens, "token")} in`]),
    ...(outputTokens === null ? [] : [`${outputTokens} out`]),
    ...(finish === null ? [] : [`ended by ${finish}`]),
  ];
  return (
    <div className="border-t border-line px-4 py-3">
      <pre className="scroll-thin max-h-96 overflow-auto font-mono text-sm whitespace-pre-wrap wrap-anywhere">
        {text === "" ? "(no text)" : text}
      </pre>
      <p className="mt-2 text-ink-2">{facts.join(", ")}</p>
      {requestId === null ? null : <p className="text-ink-2 wrap-anywhere">Request {requestId}</p>}
    </div>
  );
}
