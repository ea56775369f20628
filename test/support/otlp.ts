/** A span as a collector gets it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** `''` for a root. */
  readonly parentId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A field of a protobuf message: a varint or fixed number, or bytes. */
type Field = readonly [number: number, value: bigint | Buffer];

const kinds = { 1: 'internal', 2: 'server', 3: 'client' } as const;

/** The spans of an ExportTraceServiceRequest (opentelemetry-proto 1.x), in protobuf. */
export function readTraces(message: Buffer): readonly CollectedSpan[] {
  return messages(message, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0] ?? Buffer.alloc(0), 1);
    return messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Buffer, resource: CollectedSpan['resource']): CollectedSpan {
  const [status] = messages(span, 15);
  return {
    traceId: bytes(span, 1).toString('hex'),
    spanId: bytes(span, 2).toString('hex'),
    traceState: bytes(span, 3).toString(),
    parentId: bytes(span, 4).toString('hex'),
    name: bytes(span, 5).toString(),
    kind: kinds[Number(number(span, 6)) as keyof typeof kinds] ?? 'other',
    startNs: number(span, 7),
    endNs: number(span, 8),
    attributes: attributesOf(span, 9),
    isError: status !== undefined && number(status, 3) === 2n,
    resource,
  };
}

function attributesOf(message: Buffer, wanted: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, wanted).map((pair) => [bytes(pair, 1).toString(), valueOf(bytes(pair, 2))]),
  );
}

function valueOf(value: Buffer): unknown {
  const [field] = fieldsOf(value);
  if (field === undefined) return undefined;
  const [kind, content] = field;
  if (kind === 1) return (content as Buffer).toString();
  if (kind === 2) return content === 1n;
  if (kind === 3) return Number(content);
  return content;
}

function messages(message: Buffer, wanted: number): readonly Buffer[] {
  return fieldsOf(message).flatMap(([at, value]) => (at === wanted && Buffer.isBuffer(value) ? [value] : []));
}

function bytes(message: Buffer, wanted: number): Buffer {
  return messages(message, wanted)[0] ?? Buffer.alloc(0);
}

function number(message: Buffer, wanted: number): bigint {
  const value = fieldsOf(message).find(([at]) => at === wanted)?.[1];
  return typeof value === 'bigint' ? value : 0n;
}

function fieldsOf(message: Buffer): readonly Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = varint();
    const name = Number(key >> 3n);
    const wire = Number(key & 7n);
    if (wire === 0) fields.push([name, varint()]);
    else if (wire === 1) {
      fields.push([name, message.readBigUInt64LE(at)]);
      at += 8;
    } else if (wire === 5) {
      fields.push([name, BigInt(message.readUInt32LE(at))]);
      at += 4;
    } else if (wire === 2) {
      const length = Number(varint());
      fields.push([name, message.subarray(at, at + length)]);
      at += length;
    } else throw new Error(`wire type ${wire}`);
  }
  return fields;
}
