/** Milliseconds for the browser to take over the file. */
const takeOverMs = 60_000;

export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), takeOverMs);
}

export function saveText(name: string, content: string, mediaType: string): void {
  saveFile(name, new Blob([content], { type: `${mediaType};charset=utf-8` }));
}
