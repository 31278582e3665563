import { dayInWords } from '#services/platform/locale.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';
import { paragraphsOf } from '#services/platform/http/html.ts';

export function policyChangeEmail(
  { productName, publicUrl }: { productName: string; publicUrl: string },
  { effectiveOn, summary }: { effectiveOn: string; summary: string },
): EmailContent {
  return {
    subject: `${productName}'s terms change on ${dayInWords(effectiveOn)}`,
    paragraphs: [
      `From ${dayInWords(effectiveOn)} our terms or our privacy policy will be different. What changes:`,
      ...paragraphsOf(summary),
      'Credits you bought before keep the terms under which you bought them. You can delete your account at any time in your account settings.',
    ],
    action: { label: 'Read the current terms', url: `${publicUrl}/terms` },
    closing: ['You get this email because you have an account. It cannot be switched off.'],
  };
}
