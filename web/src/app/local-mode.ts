/** In local mode the server marks its pages: `<html data-mode="local">`. */
export function isLocalMode(): boolean {
  return document.documentElement.dataset['mode'] === 'local';
}
