import type { Clock } from '../../lib/clock.ts';
import { loadOnce } from '../../lib/single-flight.ts';
import type { AskAboutList } from '../../model/grant.ts';
import type { DecisionPointSettings, Route } from '../../model/route.ts';
import type { DecisionPoint } from '../../pipeline/decision-point/decision-point.ts';
import type { Stages } from '../../pipeline/pipeline.ts';
import { messageOf } from '../../lib/wording.ts';
import { ensure } from '../../lib/remembered.ts';

interface Consults {
  readonly consult: Stages['consult'];
  readonly askAboutList: AskAboutList | undefined;
}

interface DecisionPointParts {
  readonly publicUrl: string;
  readonly clock: Clock;
  /** Called for a decision point that cannot be used at start. */
  readonly onProblem: (name: string, problem: string) => void;
  /** Default: the code of decision points. Most gateways have none. */
  readonly load?: () => Promise<typeof import('../../pipeline/decision-point/decision-point.ts')>;
}

/** The decision points of one configuration, each one for all its routes. */
export class DecisionPoints {
  readonly #parts: DecisionPointParts;
  readonly #opened = new Map<DecisionPointSettings, () => Promise<DecisionPoint>>();

  constructor(parts: DecisionPointParts) {
    this.#parts = parts;
  }

  /** The questions of a route. */
  of(route: Route): Consults {
    const { decisionPoint } = route;
    if (decisionPoint === undefined) return { consult: undefined, askAboutList: undefined };
    let required: ReturnType<DecisionPoint['requireOn']> | undefined;
    let list: AskAboutList | undefined;
    return {
      consult: async (call, grant) => {
        required ??= (await this.#open(decisionPoint)).requireOn(route);
        await required(call, grant);
      },
      askAboutList: async (...question) => {
        list ??= (await this.#open(decisionPoint)).listOn(route);
        return list(...question);
      },
    };
  }

  /** Reads the metadata of all that routes name, so that the first call need not wait for them. */
  start(routes: readonly Pick<Route, 'decisionPoint'>[]): void {
    for (const settings of new Set(routes.map(({ decisionPoint }) => decisionPoint))) {
      if (settings === undefined) continue;
      this.#open(settings)
        .then((point) => point.endpoints())
        .catch((error: unknown) => {
          this.#parts.onProblem(settings.name, messageOf(error));
        });
    }
  }

  async #open(settings: DecisionPointSettings): Promise<DecisionPoint> {
    const {
      publicUrl,
      clock,
      load = async () => import('../../pipeline/decision-point/decision-point.ts'),
    } = this.#parts;
    const open = async (): Promise<DecisionPoint> => {
      const { DecisionPoint: Loaded } = await load();
      return new Loaded(settings, publicUrl, clock, Math.random);
    };
    return ensure(this.#opened, settings, () => loadOnce(open))();
  }
}
