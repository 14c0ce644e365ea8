/** Approximate number of terminal columns of a text: wide scripts and emoji take two, combining marks none. */
let segmenter: Intl.Segmenter | undefined;
const widePattern =
  /^(?:\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\u3000-\u303e\uff01-\uff60])/u;
// oxlint-disable-next-line no-control-regex -- plain ASCII is the common case and needs no segmenter.
const asciiPattern = /^[\u0000-\u007f]*$/;

/** Made on the first text that is not ASCII: its data take as long to load as a tenth of a short command. */
function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

export function displayWidth(text: string): number {
  if (asciiPattern.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += widePattern.test(segment) ? 2 : 1;
  return width;
}

/** The text, cut to `columns` with an ellipsis. */
export function truncated(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const { segment } of segmentsOf(text)) {
    const segmentWidth = displayWidth(segment);
    if (width + segmentWidth > columns - 1) break;
    kept += segment;
    width += segmentWidth;
  }
  return columns > 0 ? `${kept}…` : "";
}
