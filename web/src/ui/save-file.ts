/** Milliseconds for the browser to take the file over. */
const takeOverMs = 60_000;

/** Hands a file to the browser's downloads. */
export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), takeOverMs);
}

/** The same for a text. */
export function saveText(name: string, content: string, mediaType: string): void {
  saveFile(name, new Blob([content], { type: `${mediaType};charset=utf-8` }));
}
