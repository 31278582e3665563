/** Whether the server runs in local mode. It marks the pages it sends then: `<html data-mode="local">`. */
export function isLocalMode(): boolean {
  return document.documentElement.dataset['mode'] === 'local';
}
