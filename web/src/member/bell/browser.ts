/** Notifications of the browser. Its permission belongs to this browser, the wish to the account. */
export type Permission = 'granted' | 'denied' | 'default' | 'unsupported';

export function permission(): Permission {
  return 'Notification' in globalThis ? Notification.permission : 'unsupported';
}

/** Must follow a press: a browser refuses to ask otherwise. */
export async function askPermission(): Promise<Permission> {
  return 'Notification' in globalThis ? Notification.requestPermission() : 'unsupported';
}

/**
 * Shows one, once for all tabs of this browser; a press brings this tab forward. Some phones only let
 * service workers notify and throw.
 */
export function notify(id: string, title: string, body: string, onPress: () => void): void {
  if (permission() !== 'granted') return;
  try {
    const shown = new Notification(title, { body, tag: id, icon: '/mark.svg' });
    shown.addEventListener('click', () => {
      shown.close();
      window.focus();
      onPress();
    });
  } catch (error) {
    console.warn('This browser shows no notifications of pages', error);
  }
}
