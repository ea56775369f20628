import type { AuthorizationServer, ClientCredentials } from '../core/model/authorization-server.ts';
import type { Rate } from '../core/model/endpoint.ts';

/** The name by which routes trust the front door, in `authorization_servers`. */
export const FRONT_DOOR = 'front_door';

/** Holds the secret between the front door and the gateway where no `session_key` is configured. */
export const GATEWAY_SECRET_VARIABLE = 'SALLYPORT_FRONT_DOOR_SECRET';

/** Begins the `client_id` of tokens that workloads got; the name of the workload follows. */
export const WORKLOAD_PREFIX = 'workload:';

/** `front_door`: an OAuth authorization server of our own, where people sign in at an identity provider. */
export interface FrontDoor {
  /** Published byte for byte; everything else is built from it, never from `Host`. */
  readonly issuer: string;
  /** Where it listens; port 0 lets the system choose. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The absolute path of the file with its secret; undefined: derived from `session_key`, or random at each start. */
  readonly keys: string | undefined;
  readonly providers: ReadonlyMap<string, IdentityProvider>;
  readonly clients: ClientRules;
  /** Every scope that a client may ask for. */
  readonly scopes: ReadonlyMap<string, FrontDoorScope>;
  /** Published as `acr_values_supported`; empty: nothing is. */
  readonly acrValues: readonly string[];
  readonly tokens: { readonly format: 'opaque' | 'jwt'; readonly lifetimeMs: number };
  readonly assertions: ReadonlyMap<string, AssertionIssuer>;
  /** In their order: of those that fit a token, the first counts. */
  readonly workloads: ReadonlyMap<string, Workload>;
  readonly limits: FrontDoorLimits;
  /** The front door as the gateway trusts it, under the name {@link FRONT_DOOR}. */
  readonly server: AuthorizationServer;
  /** What the gateway authenticates with when it introspects, whatever the format of tokens. */
  readonly gatewaySecret: string;
}

/** `front_door.limits`: the rates of each address, under the names of their keys; undefined: no limit. */
export interface FrontDoorLimits {
  readonly sign_ins: Rate | undefined;
  readonly registrations: Rate | undefined;
  readonly requests: Rate | undefined;
}

/** An issuer whose tokens the front door accepts, and where it reaches it. */
export interface TrustedIssuer {
  readonly name: string;
  /** Compared byte for byte. */
  readonly issuer: string;
  /** The base URL where the front door reaches it; the issuer by default. */
  readonly backchannel: string;
  readonly claims: ClaimsMapping;
}

/** An OpenID provider at which people sign in. */
export interface IdentityProvider extends TrustedIssuer {
  readonly credentials: ClientCredentials | PublicClient;
  readonly scopes: readonly string[];
  /** The suffixes of addresses that lead to it, in lower case. */
  readonly domains: readonly string[];
}

interface PublicClient {
  readonly clientId: string;
  readonly clientAuth: 'none';
}

/** A claim of our tokens → a claim of theirs, each named as in a policy: by name or by JSON Pointer. */
export type ClaimsMapping = ReadonlyMap<string, string>;

/** Which clients may ask for tokens. */
export interface ClientRules {
  /** Whether clients get refresh tokens, unless a registered one says otherwise. */
  readonly refresh: boolean;
  /** How long a used refresh token may be presented again by its client; 0: not at all. */
  readonly refreshGraceMs: number;
  /** Patterns of client ids that are URLs of metadata documents; empty: none. */
  readonly metadataDocuments: readonly string[];
  /** Addresses and networks (CIDR), besides public ones, from which documents may be fetched. */
  readonly documentAddresses: readonly string[];
  /** RFC 7591; undefined: off. */
  readonly registration: RegistrationRules | undefined;
  readonly registered: ReadonlyMap<string, RegisteredClient>;
}

/** Rules for clients that register themselves. */
export interface RegistrationRules {
  /** Patterns of redirect URIs, those of known clients among them. */
  readonly redirectUris: readonly string[];
  /** The names of known clients whose patterns they have. */
  readonly known: readonly string[];
  /** Whether they, and clients with a metadata document, may use the device grant. */
  readonly device: boolean;
  readonly initialAccessToken: string | undefined;
  /** How long a registration lives after its last use. */
  readonly lifetimeMs: number;
}

/** How a client gets tokens, by the short names of `grants`. */
export type ClientGrant = 'authorization_code' | 'refresh_token' | 'client_credentials' | 'device_code';

/** A client that the operator registered. */
export interface RegisteredClient {
  readonly name: string;
  readonly grants: ReadonlySet<ClientGrant>;
  readonly clientAuth: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  /** Undefined: a public client, or one with keys. */
  readonly secret: string | undefined;
  /** Where its keys are; undefined without `private_key_jwt`. */
  readonly jwksUri: string | undefined;
  /** Patterns of redirect URIs; empty without `authorization_code`. */
  readonly redirectUris: readonly string[];
  /** The most that a token of its own gets, by `client_credentials`. */
  readonly scopes: readonly string[];
  /** The claims of a token of its own. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether it may get tokens for the API for approvers. */
  readonly mayApprove: boolean;
}

/** A scope of the front door. */
export interface FrontDoorScope {
  readonly title: string;
  /** The longest lifetime of a token that has it; undefined: that of all tokens. */
  readonly lifetimeMs: number | undefined;
  /** How old the sign-in may be when it is granted; undefined: any age. */
  readonly maxAgeMs: number | undefined;
}

/** An issuer of identity assertions, ID-JAG. */
export interface AssertionIssuer extends TrustedIssuer {
  /** The provider whose people its subjects are; undefined: its subjects are a name space of their own. */
  readonly provider: string | undefined;
  /** The client ids that may present its assertions. */
  readonly clients: readonly string[];
  readonly scopes: readonly string[];
}

/** A platform whose workloads exchange their tokens. */
export interface Workload extends TrustedIssuer {
  /** What `aud` contains. */
  readonly audience: string;
  /** Patterns of `sub`: `*` stands for a run without `:` and `/`, `**` for any run, neither for an empty one. */
  readonly subjects: readonly string[];
  /** The most that a token gets. */
  readonly scopes: readonly string[];
  /** Undefined: as long as other tokens. */
  readonly lifetimeMs: number | undefined;
  /** The URL of its keys, or the keys; undefined: its metadata name them. */
  readonly jwks: string | JSONWebKeySet | undefined;
  /** The authorities in place of those of the system, as PEM. */
  readonly ca: string | undefined;
  /** The bearer token for metadata and keys. */
  readonly token: string | undefined;
}

/** RFC 7517 §5. */
interface JSONWebKeySet {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}
