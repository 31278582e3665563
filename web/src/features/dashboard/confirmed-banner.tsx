import { type ReactNode, useEffect, useState } from 'react';
import { productName } from '#web/app/product.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/**
 * The welcome after an email address was confirmed. It is shown once: `onSeen` removes the
 * parameter from the address.
 */
export function ConfirmedBanner({
  confirmed,
  onSeen,
}: {
  confirmed: boolean;
  onSeen: () => void;
}): ReactNode {
  const [shown, setShown] = useState(confirmed);
  useEffect(() => {
    if (confirmed) onSeen();
  }, [confirmed, onSeen]);
  if (!shown) return null;
  return (
    <Notice
      tone="ok"
      title="Email confirmed successfully!"
      announced="Email confirmed successfully!"
      onDismiss={() => setShown(false)}
    >
      Your account is now active. Welcome to {productName}!
    </Notice>
  );
}
