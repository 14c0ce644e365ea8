/** Names of failure domains on the command line: `leaf-2`, or `rack=r7` where several domains have the name. */
import { CliError, exitCode } from "../cli-error.ts";

/** `option`: the option or command for the message. */
export function failureDomainNamed(text: string, option: string): { readonly level?: string; readonly name: string } {
  const at = text.indexOf("=");
  const [level, name] = [text.slice(0, at), text.slice(at + 1)];
  if (at === 0 || name === "")
    throw new CliError(`${option} ${text}: write NAME or LEVEL=NAME, like rack=r7`, exitCode.usage);
  return at < 0 ? { name: text } : { level, name };
}
