/**
 * The local address of a pasted sign-in link, or `null` if the text is not such a link. Only the code is taken from the
 * link, so that a link to another host cannot send the user there.
 */
export function loginPathIn(pasted: string): string | null {
  const text = pasted.trim();
  const code =
    /[?&]code=([A-Za-z0-9._~-]{8,200})(?:[&#]|$)/.exec(text)?.[1] ?? /^[A-Za-z0-9._~-]{16,200}$/.exec(text)?.[0];
  return code === undefined ? null : `/login?code=${code}`;
}
