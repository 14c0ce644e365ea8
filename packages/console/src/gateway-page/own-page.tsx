import type { GatewayOverview } from "@headroom/protocol";
import { useCallback, useEffect, useState, type FormEvent } from "react";
import type { ReactElement } from "react";
import { gatewaySummary, GatewayView } from "../pages/gateway/gateway-view.tsx";
import { Button } from "../parts/button.tsx";
import { Field, inputClass } from "../parts/controls.tsx";
import { Page } from "../parts/page.tsx";
import { Loading } from "../parts/states.tsx";
import { EntryCard } from "../shell/entry-card.tsx";
import { ThemeSwitch } from "../shell/theme-switch.tsx";
import { readOverview } from "./read-overview.ts";

const TOKEN_KEY = "headroom.gatewayToken";
const POLL_MS = 5_000;

export function OwnPage(): ReactElement {
  const [token, setToken] = useState(() => sessionStorage.getItem(TOKEN_KEY) ?? "");
  const [refusal, setRefusal] = useState<string>();
  const signIn = (next: string): void => {
    sessionStorage.setItem(TOKEN_KEY, next);
    setToken(next);
  };
  const signOut = useCallback((reason?: string): void => {
    sessionStorage.removeItem(TOKEN_KEY);
    setRefusal(reason);
    setToken("");
  }, []);
  if (token === "") return <TokenForm refusal={refusal} onToken={signIn} />;
  return <SignedIn token={token} onSignOut={signOut} />;
}

interface TokenFormProps {
  readonly refusal: string | undefined;
  readonly onToken: (token: string) => void;
}

function TokenForm({ refusal, onToken }: TokenFormProps): ReactElement {
  const open = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget).get("token");
    if (typeof typed === "string" && typed.trim() !== "") onToken(typed.trim());
  };
  return (
    <EntryCard title="Gateway">
      <p>
        The admin token is in the gateway&apos;s state folder, in the file{" "}
        <code className="font-mono text-sm text-ink">ID/admin-token</code>, unless{" "}
        <code className="font-mono text-sm text-ink">adminToken</code> names another place.
      </p>
      <form onSubmit={open} className="flex flex-col gap-3" noValidate>
        <Field id="token" label="Admin token" error={refusal}>
          <input
            id="token"
            name="token"
            type="password"
            autoComplete="off"
            aria-invalid={refusal !== undefined}
            aria-describedby={refusal === undefined ? undefined : "token-error"}
            className={`${inputClass} w-full`}
          />
        </Field>
        <div>
          <Button look="primary" type="submit">
            Open
          </Button>
        </div>
      </form>
    </EntryCard>
  );
}

interface SignedInProps {
  readonly token: string;
  readonly onSignOut: (reason?: string) => void;
}

function SignedIn({ token, onSignOut }: SignedInProps): ReactElement {
  const [overview, setOverview] = useState<GatewayOverview>();
  const [problem, setProblem] = useState<string>();
  const load = useCallback(
    async (signal: AbortSignal): Promise<void> => {
      const read = await readOverview(token, signal);
      if (signal.aborted) return;
      if (read.kind === "refused") onSignOut("The gateway refuses this token.");
      else if (read.kind === "failed") setProblem(read.message);
      else {
        setProblem(undefined);
        setOverview(read.overview);
      }
    },
    [token, onSignOut],
  );
  useOften(load);
  return (
    <main className="h-dvh">
      <Page
        title="Gateway"
        layout="flow"
        summary={overview === undefined ? undefined : gatewaySummary(overview)}
        actions={
          <>
            <ThemeSwitch />
            <Button onClick={() => onSignOut()}>Forget the token</Button>
          </>
        }
      >
        {problem === undefined ? null : (
          <p role="status" className="mx-4 mb-3 rounded-lg bg-wait-soft px-4 py-2 text-wait md:mx-6">
            {problem}
          </p>
        )}
        {overview === undefined ? (
          problem === undefined ? (
            <Loading label="Loading the gateway" />
          ) : null
        ) : (
          <GatewayView overview={overview} />
        )}
      </Page>
    </main>
  );
}

/** Calls `load` now and, while the page is visible, some seconds after each answer. */
function useOften(load: (signal: AbortSignal) => Promise<void>): void {
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async (): Promise<void> => {
      if (!document.hidden) await load(ended.signal);
      if (!ended.signal.aborted) timer = setTimeout(() => void next(), POLL_MS);
    };
    void next();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [load]);
}
