import { compare, failed } from './check.ts';
import type { Check } from './check.ts';
import type { RebuiltCall } from './rebuild.ts';

/**
 * What code found in a reply, found again: the ballot of a review, the claims of the extractor, the
 * checks of a draft. So the numbers that were counted are those that the model gave.
 */
export function readChecks({ prepared, reply }: RebuiltCall): Check[] {
  if (prepared === null || reply === null) return [];
  const { event, texts, ledger } = reply;
  const name = 'what was found in the reply';
  const given = jsonOf(texts['reply']);
  if (given === undefined) return [failed(name, 'the reply is not JSON', event)];
  const checked = prepared.check({ value: given, isRepaired: false });
  if (!checked.ok)
    return [failed(name, `the reply has not the required form (${checked.reason})`, event)];
  const { outcome, texts: found, ledger: words, title } = checked.value;
  return [
    compare(name, event.data['outcome'], outcome, event),
    compare('texts of the reply', texts, found, event),
    ...(ledger === null
      ? []
      : [
          compare(
            'words of the claims',
            ledger.texts,
            { ledger: JSON.stringify(words), ...(title === undefined ? {} : { title }) },
            ledger.event,
          ),
        ]),
  ];
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
