/** The settings of capabilities, which `Slot` reads. */
interface Holder {
  readonly slots?: ReadonlyMap<object, object> | undefined;
}

/**
 * The place of a capability's settings in a route or in the whole configuration. It carries their type, so that neither
 * need know it.
 */
export class Slot<Settings extends object> {
  /** The settings; undefined: the capability is not used there. */
  of({ slots }: Holder): Settings | undefined {
    return slots?.get(this) as Settings | undefined;
  }

  /** The settings as an entry of the slots. */
  with(settings: Settings): readonly [Slot<object>, object] {
    return [this, settings];
  }
}
