import * as v from 'valibot';
import { isPlainId } from './providers/listing.ts';

/** A model server on this machine, and the line of `.env` that uses it. */
export type LocalServer = {
  /** "Ollama at http://127.0.0.1:11434 with 2 models: gemma3:12b, qwen3:8b". */
  found: string;
  line: string;
};

/** Where Ollama and LM Studio listen unless they are configured otherwise. */
const usualServers: ServerOrigins = {
  ollama: 'http://127.0.0.1:11434',
  lmStudio: 'http://127.0.0.1:1234',
};

type ServerOrigins = { ollama: string; lmStudio: string };

/** Variables that already name a server; it is not suggested again. */
type Configured = { ollamaUrl: string | null; endpointUrls: readonly string[] };

/**
 * The model servers that answer on loopback within 300 ms and that no setting names yet. They are
 * reported, never used: what runs there, and whether it may read a question, is the user's choice.
 */
export async function findLocalServers(
  configured: Configured,
  origins: ServerOrigins = usualServers,
): Promise<LocalServer[]> {
  const known = new Set(
    [configured.ollamaUrl, ...configured.endpointUrls].flatMap((url) =>
      url !== null && URL.canParse(url) ? [portOf(url)] : [],
    ),
  );
  const found = await Promise.all([
    known.has(portOf(origins.ollama)) ? null : findOllama(origins.ollama),
    known.has(portOf(origins.lmStudio)) ? null : findLmStudio(origins.lmStudio),
  ]);
  return found.filter((server) => server !== null);
}

async function findOllama(origin: string): Promise<LocalServer | null> {
  const answer = await ask(`${origin}/api/tags`, ollamaTags);
  if (answer === null) return null;
  const names = answer.models.map(({ name }) => name).filter(isPlainId);
  return { found: described('Ollama', origin, names), line: `OLLAMA_URL=${origin}` };
}

async function findLmStudio(origin: string): Promise<LocalServer | null> {
  const answer = await ask(`${origin}/v1/models`, openaiModels);
  const names = answer?.data.map(({ id }) => id).filter(isSeatable) ?? [];
  if (answer === null || names.length === 0) return null;
  return {
    found: described('An OpenAI-compatible server', origin, names),
    line: `OPENAI_COMPATIBLE_ENDPOINTS=lm-studio|${origin}/v1||${names.join(',')}`,
  };
}

const ollamaTags = v.object({ models: v.array(v.object({ name: v.string() })) });
const openaiModels = v.object({ data: v.array(v.object({ id: v.string() })) });

/** LM Studio lists embedding models under this prefix; the others would break the setting's format. */
function isSeatable(id: string): boolean {
  return isPlainId(id) && !id.startsWith('text-embedding-') && !/[|;,=]/.test(id);
}

/** Null unless a server answers in the expected shape: another program may listen on the port. */
async function ask<Schema extends v.GenericSchema>(
  url: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | null> {
  try {
    const response = await fetch(url, {
      redirect: 'error',
      signal: AbortSignal.timeout(answersWithinMs),
    });
    const parsed = v.safeParse(schema, await response.json());
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}

const answersWithinMs = 300;
const namesShown = 5;

function described(server: string, origin: string, names: readonly string[]): string {
  const count = names.length === 1 ? '1 model' : `${names.length} models`;
  const shown = names
    .slice(0, namesShown)
    .map((name) => name.slice(0, 60))
    .join(', ');
  const list = names.length === 0 ? '' : `: ${shown}${names.length > namesShown ? ', …' : ''}`;
  return `${server} at ${origin} with ${count}${list}`;
}

function portOf(url: string): string {
  return new URL(url).port;
}
