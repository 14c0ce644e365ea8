/** Sign-in page: a one-time link from the command line signs the browser in. */
import { useState, type FormEvent } from "react";
import type { ReactElement } from "react";
import { Button } from "../parts/button.tsx";
import { Field, inputClass } from "../parts/controls.tsx";
import { EntryCard } from "./entry-card.tsx";
import { loginPathIn } from "./login-path.ts";

export function Login({ onRetry }: { readonly onRetry: () => void }): ReactElement {
  const [error, setError] = useState<string>();
  const open = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const pasted = new FormData(event.currentTarget).get("link");
    const path = loginPathIn(typeof pasted === "string" ? pasted : "");
    if (path === null) setError("This is not a sign-in link. It looks like http://127.0.0.1:7070/login?code=…");
    else window.location.assign(path);
  };
  return (
    <EntryCard title="Sign in">
      <p>On the machine of the control plane, this prints a link that signs a browser in, once:</p>
      <pre className="rounded-md bg-sunken px-3 py-2 font-mono text-sm text-ink">headroom login</pre>
      <form onSubmit={open} className="flex flex-col gap-3" noValidate>
        <Field id="login-link" label="Sign-in link" error={error}>
          <input
            id="login-link"
            name="link"
            autoComplete="off"
            spellCheck={false}
            aria-invalid={error !== undefined}
            aria-describedby={error === undefined ? undefined : "login-link-error"}
            className={`${inputClass} w-full`}
          />
        </Field>
        <div className="flex gap-2">
          <Button look="primary" type="submit">
            Sign in
          </Button>
          <Button onClick={onRetry}>I am signed in already</Button>
        </div>
      </form>
    </EntryCard>
  );
}
