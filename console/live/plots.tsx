import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { endpoints, type RatePoint, type RatesAnswer } from '../../src/capabilities/console/messages.ts';
import type { OutcomeKind } from '../../src/core/model/outcome-kind.ts';
import { outcomes } from '../parts/outcome.tsx';
import { timeOfDay } from '../parts/time.tsx';
import { read } from '../requests.ts';
import { useRepeated } from '../status.ts';

const HOUR_S = 3600;
const HEIGHT = 36;

/** One small plot: its title, the colours of its lines, and the values of a point. */
interface Panel {
  readonly title: string;
  readonly lines: readonly { readonly name: string; readonly colour: string }[];
  readonly unit: string;
  values(point: RatePoint | undefined, slotMs: number): readonly (number | null)[];
}

function rate(kind: OutcomeKind): Panel {
  return {
    title: kind,
    lines: [{ name: kind, colour: `--${kind}` }],
    unit: '/s',
    values: (point, slotMs) => [(point?.counts[kind] ?? 0) / (slotMs / 1000)],
  };
}

function durations(of: 'decision' | 'upstream'): Panel {
  return {
    title: `${of}, ms`,
    lines: [
      { name: 'p50', colour: '--accent' },
      { name: 'p99', colour: '--muted' },
    ],
    unit: '',
    values: (point) => [point?.[of]?.p50 ?? null, point?.[of]?.p99 ?? null],
  };
}

const panels: readonly Panel[] = [...outcomes.map(rate), durations('decision'), durations('upstream')];

/** The keys that move the cursor of a plot, and the number of slots. */
const steps: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -6,
  PageUp: 6,
  Home: -Infinity,
  End: Infinity,
};

/** The rates of the last hour by outcome, and the durations of decisions and upstreams. */
export function Plots(): JSX.Element {
  const [rates, setRates] = useState<RatesAnswer>({ slotMs: 10_000, points: [] });
  useRepeated(() => void read(endpoints.rates).then(setRates, () => {}));
  return (
    <section class="plots" aria-label="The last hour">
      {panels.map((panel) => (
        <Plot key={panel.title} panel={panel} rates={rates} />
      ))}
    </section>
  );
}

function Plot({ panel, rates: { points, slotMs } }: Readonly<{ panel: Panel; rates: RatesAnswer }>): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [hovered, setHovered] = useState<number>();
  const data = dataOf(panel, points, slotMs);
  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsOf(panel, element, setHovered),
        dataOf(panel, [], slotMs) as uPlot.AlignedData,
        element,
      );
    };
    draw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      scheme.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [points]);
  const [times, ...lines] = data;
  const last = times.length - 1;
  const index = hovered ?? newestIn(lines);
  const at = hovered === undefined ? undefined : timeOfDay((times[hovered] ?? 0) * 1000);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(Math.max(index + step, 0), last);
    plot.current?.setCursor({ left: plot.current.valToPos(times[next] ?? 0, 'x'), top: 0 });
    setHovered(next);
  };
  const values = lines.map((line) => line[index]);
  const most = Math.max(...lines.flat().map((value) => value ?? 0));
  const label = panel.lines.map(({ name }, line) => `${name} ${shown(values[line], panel.unit)}`).join(', ');
  return (
    <figure class="plot">
      <figcaption>
        <span class="muted">{at ?? panel.title}</span>
        <b>{shown(values[0], panel.unit)}</b>
        {panel.lines.slice(1).map(({ name }, line) => (
          <span key={name} class="muted">
            {name} {shown(values[line + 1], panel.unit)}
          </span>
        ))}
        {most > 0 && <span class="muted most">max {shown(most, panel.unit)}</span>}
      </figcaption>
      <div
        ref={place}
        class="canvas"
        role="slider"
        tabIndex={0}
        aria-label={`${panel.title}, last hour`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={index}
        aria-valuetext={`${at ?? 'now'}: ${label}`}
        onKeyDown={onKeyDown}
        onBlur={() => plot.current?.setCursor({ left: -1, top: -1 })}
      />
    </figure>
  );
}

/** The place of the newest value, at most a minute old. */
function newestIn(lines: readonly (readonly (number | null)[])[]): number {
  const last = (lines[0]?.length ?? 1) - 1;
  for (let index = last; index > last - 6 && index >= 0; index -= 1) {
    if (lines.some((line) => (line[index] ?? null) !== null)) return index;
  }
  return last;
}

/** The times of the slots, then the values of each line. */
type Columns = readonly [times: readonly number[], ...lines: readonly (readonly (number | null)[])[]];

/** Every slot of the hour but the current one, whose count is not complete. */
function dataOf(panel: Panel, points: readonly RatePoint[], slotMs: number): Columns {
  const byTime = new Map(points.map((point) => [point.at, point]));
  const count = (HOUR_S * 1000) / slotMs;
  const last = Math.floor(Date.now() / slotMs) - 1;
  const times = Array.from({ length: count }, (_, index) => ((last - count + 1 + index) * slotMs) / 1000);
  const values = times.map((time) => panel.values(byTime.get(time * 1000), slotMs));
  return [times, ...panel.lines.map((_, line) => values.map((each) => each[line] ?? null))];
}

function optionsOf(panel: Panel, element: HTMLElement, hover: (index: number | undefined) => void): uPlot.Options {
  const style = getComputedStyle(element);
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [2, 0, 2, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    axes: [{ show: false }, { show: false }],
    scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(max, 0.1)] } },
    series: [{}, ...panel.lines.map(({ colour }) => lineOf(resolved(colour, element, style)))],
    hooks: { setCursor: [({ cursor }) => hover(cursor.idx ?? undefined)] },
  };
}

function lineOf(stroke: string): uPlot.Series {
  return { stroke, width: 1.25, points: { show: false }, spanGaps: false };
}

/** The colour of a custom property. A canvas does not know `light-dark()`: the browser resolves it for an element. */
function resolved(property: string, element: HTMLElement, style: CSSStyleDeclaration): string {
  element.style.color = `var(${property})`;
  const { color } = style;
  element.style.color = '';
  return color;
}

function shown(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return '–';
  if (value === 0) return `0${unit}`;
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))}${unit}`;
}
