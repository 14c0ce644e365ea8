/** One HTML page without scripts, fonts or network access, and its tables. It follows the reader's choice of dark or light. */
export function htmlPage(heading: string, body: string): string {
  const title = escapeHtml(heading);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export function details(content: string): string {
  return `<details><summary>The same as a table</summary>${content}</details>`;
}

export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th scope="col">${escapeHtml(title)}</th>`).join("");
  const body = rows.map((row) => {
    const cells = row.map((cell, index) =>
      index === 0 ? `<th scope="row">${escapeHtml(cell)}</th>` : `<td>${escapeHtml(cell)}</td>`,
    );
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

/**
 * Colours of Okabe and Ito, which people with colour blindness can distinguish. On a dark background they are lighter.
 */
const style = `
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--soft:#d7dce2;--c0:#0072b2;--c1:#b34700;--c2:#00785a;--c3:#a0467f;--c4:#6b5b00;--c5:#444c56}
@media (prefers-color-scheme:dark){:root{--fg:#e6e9ed;--bg:#14171b;--soft:#3a414a;--c0:#56b4e9;--c1:#e69f00;--c2:#2cc69b;--c3:#e39ac4;--c4:#f0e442;--c5:#b5bec9}}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 64px;overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
svg{width:100%;height:auto;display:block}svg text{fill:var(--fg);font:12px system-ui,sans-serif}
.grid{stroke:var(--soft);stroke-width:1}
.line{fill:none!important;stroke-width:2;stroke-linejoin:round}
.s0{fill:var(--c0);stroke:var(--c0)}.s1{fill:var(--c1);stroke:var(--c1);stroke-dasharray:7 3}.s2{fill:var(--c2);stroke:var(--c2);stroke-dasharray:2 3}
.s3{fill:var(--c3);stroke:var(--c3);stroke-dasharray:10 3 2 3}.s4{fill:var(--c4);stroke:var(--c4);stroke-dasharray:4 4}.s5{fill:var(--c5);stroke:var(--c5);stroke-dasharray:1 4}
rect{stroke:none!important}
.legend{list-style:none;display:flex;gap:20px;padding:0;flex-wrap:wrap}.legend svg{display:inline-block;width:28px;height:10px}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--soft);white-space:nowrap}th:first-child{text-align:left}
summary{cursor:pointer;padding:4px 0}`;
