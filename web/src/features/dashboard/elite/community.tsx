import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Community } from '#services/optimizations/contract/dashboard.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { communityQuery } from '#web/features/dashboard/queries.ts';
import { Card } from '#web/ui/card.tsx';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Checkbox } from '#web/ui/form/field.tsx';
import {
  communityRows,
  notEnough,
  roundedNote,
  sharingSentence,
  standingWords,
  whenEnough,
} from './community-words.ts';

/** Figures of all who share theirs, and the switch to share one's own. */
export function CommunityInsights({
  onShare,
}: {
  /** Stores the choice with the account. */
  onShare: (shares: boolean) => Promise<void>;
}): ReactNode {
  const answer = useQuery(communityQuery);
  return (
    <Card aria-labelledby="community" className="min-w-0 space-y-4">
      <h2 id="community" className="text-2xl">
        Elite Community Insights
      </h2>
      <QueryBlock
        answer={answer}
        label="Loading community insights"
        failure="We couldn't load the community's figures"
        skeleton={<Skeleton className="h-64" />}
      >
        {(community) => (
          <div className="space-y-4">
            <Figures community={community} />
            <Sharing shares={community.shares} onShare={onShare} />
          </div>
        )}
      </QueryBlock>
    </Card>
  );
}

function Figures({ community }: { community: Community }): ReactNode {
  const rows = communityRows(community);
  const standing = standingWords(community);
  if (rows.length === 0)
    return (
      <div className="space-y-1">
        <p className="font-medium">{notEnough}</p>
        <p className="text-ink-2">{whenEnough}</p>
      </div>
    );
  return (
    <div className="space-y-3">
      {standing === null ? null : <p className="font-medium">{standing}</p>}
      <ul className="divide-y divide-line border-y border-line">
        {rows.map(({ id, name, facts }) => (
          <li key={id} className="flex flex-wrap justify-between gap-x-4 py-2">
            <span className="font-medium">{name}</span>
            <span className="text-ink-2">{facts.join(' · ')}</span>
          </li>
        ))}
      </ul>
      <p className="text-sm text-ink-3">
        {roundedNote} {whenEnough}
      </p>
    </div>
  );
}

function Sharing({
  shares,
  onShare,
}: {
  shares: boolean;
  onShare: (shares: boolean) => Promise<void>;
}): ReactNode {
  const client = useQueryClient();
  /** The requested choice, until the server has replied. */
  const [wanted, setWanted] = useState<boolean | null>(null);
  const [failure, setFailure] = useState<string | undefined>(undefined);
  const share = async (next: boolean): Promise<void> => {
    setWanted(next);
    setFailure(undefined);
    try {
      await onShare(next);
      client.setQueryData(communityQuery.queryKey, (known) => known && { ...known, shares: next });
      await client.invalidateQueries({ queryKey: communityQuery.queryKey });
      announce(next ? 'You share your results' : 'You no longer share your results');
    } catch (error) {
      setFailure(`We couldn't save your choice. ${problemSentence(error)}`);
    } finally {
      setWanted(null);
    }
  };
  return (
    <Checkbox
      label="Share my results with the community"
      name="shares_statistics"
      hint={sharingSentence}
      error={failure}
      checked={wanted ?? shares}
      aria-busy={wanted !== null || undefined}
      onChange={({ target: { checked } }) => {
        if (wanted === null) void share(checked);
      }}
    />
  );
}
