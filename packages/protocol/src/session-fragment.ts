/**
 * Name in the fragment of the console's address under which a login link passes the session of a browser to the
 * console, where the control plane has no TLS.
 */
export const SESSION_FRAGMENT = "session";
