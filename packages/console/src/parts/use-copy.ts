import { useAnnouncer } from "./announcer.tsx";

/** Copies a text and says `message`. Without the clipboard, as over plain HTTP, it says that the text cannot be copied. */
export function useCopy(): (text: string, message: string) => void {
  const announcer = useAnnouncer();
  const refused = (): void =>
    announcer.fail(new Error("The browser does not let this page use the clipboard: select the text and copy it."));
  return (text, message) => {
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard === undefined) refused();
    else void clipboard.writeText(text).then(() => announcer.say(message), refused);
  };
}
