import type { Provider } from './model.ts';
import type { ListCall } from './providers/listing.ts';

/** The contents of a file in `providers/`: a provider's address and its names. */
export type ProviderDefinition = {
  name: string;
  /** As people write it. */
  displayName: string;
  /**
   * Regular expressions for the names by which a reviewer would recognise its models: they are
   * removed from answers. `makers` matches the company, `models` the model's own names; the names of
   * the run's own models are added.
   */
  recognised: RecognisedNames;
  /** The variable that holds the key, to name it where a model is missing. */
  keyVariable: string;
  /** Its own address, where the connection names no other. */
  ownUrl: string;
  /** The calls that list its models; a wrong key fails one of them. `baseUrl` ends without a slash. */
  listCalls(connection: { apiKey: string; baseUrl: string }): readonly ListCall[];
  /** Where the sandbox serves this provider's wire format, below its own origin. */
  sandboxPath: string;
  loadSdk(): Promise<unknown>;
  connect(connection: ProviderConnection): Provider;
};

export type RecognisedNames = { makers: readonly string[]; models: readonly string[] };

/** `baseUrl` null means the provider's own address. */
export type ProviderConnection = {
  apiKey: string;
  baseUrl: string | null;
  /** Of a router: whether makers that keep or train on what they are sent may answer. */
  dataCollection?: 'deny' | 'allow';
};
