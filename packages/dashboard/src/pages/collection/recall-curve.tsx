// The measured recall of a field by ef, as a drawing with a table of the values for those who cannot see it.
import type { Calibration, CurvePoint } from '../../api/collections.ts'
import { count, percent } from '../../show.ts'

const size = { width: 480, height: 200, left: 44, right: 8, top: 8, bottom: 26 }
/** Recalls that people state. */
const statedRecalls = [0.9, 0.95, 0.99] as const

/** The smallest ef at which the measured recall, less its standard error, reaches the target; undefined if none does. */
function efFor(points: readonly CurvePoint[], target: number): number | undefined {
  return points.find(({ recall, error }) => recall - error >= target - 0.0025)?.ef
}

function shareText(share: number): string {
  return share === 1 ? 'no filter' : `${Math.round(share * 100)} % match`
}

type Curves = NonNullable<Calibration['curves']>

/** Where a value of ef and a recall are in the drawing. The axis of ef is logarithmic. */
function scaleOf(curves: Curves) {
  const points = curves.flatMap((curve) => curve.points)
  const [first, last] = [Math.min(...points.map(({ ef }) => ef)), Math.max(...points.map(({ ef }) => ef))]
  const lowest = Math.max(0, Math.min(0.9, Math.floor(Math.min(...points.map(({ recall }) => recall)) * 10) / 10))
  const [width, height] = [size.width - size.left - size.right, size.height - size.top - size.bottom]
  const octaves = Math.max(1, Math.log2(last / first))
  return {
    ...{ first, last, lowest },
    x: (ef: number) => size.left + (width * Math.log2(ef / first)) / octaves,
    y: (recall: number) => size.top + height * (1 - (recall - lowest) / (1 - lowest)),
  }
}

export function RecallCurve({ curves, name }: { readonly curves: Curves; readonly name: string }) {
  const drawn = curves.filter(({ points }) => points.length > 0)
  if (drawn.length === 0) return <p class="muted">The field had no vectors.</p>
  const { first, last, lowest, x, y } = scaleOf(drawn)
  const marks = [lowest, ...statedRecalls.filter((recall) => recall > lowest), 1]
  return (
    <>
      <svg
        class="recall-curve"
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={`Measured recall by ef of ${name}`}
      >
        {marks.map((recall) => (
          <g key={recall}>
            <line class="grid-line" x1={size.left} x2={size.width - size.right} y1={y(recall)} y2={y(recall)} />
            <text x={size.left - 6} y={y(recall) + 4} text-anchor="end">
              {recall.toFixed(2)}
            </text>
          </g>
        ))}
        <text x={size.left} y={size.height - 8}>
          ef {count(first)}
        </text>
        <text x={size.width - size.right} y={size.height - 8} text-anchor="end">
          {count(last)}
        </text>
        {drawn.map(({ share, points }, i) => (
          <g key={share} class={`curve-${i + 1}`}>
            <polyline points={points.map(({ ef, recall }) => `${x(ef)},${y(recall)}`).join(' ')} />
            {points.map(({ ef, recall }) => (
              <circle key={ef} cx={x(ef)} cy={y(recall)} r="2.5">
                <title>
                  {shareText(share)}, ef {ef}: {percent(recall)}
                </title>
              </circle>
            ))}
          </g>
        ))}
      </svg>
      <table class="tight">
        <caption class="muted">Smallest measured ef for a recall</caption>
        <thead>
          <tr>
            <th scope="col">Objects</th>
            {statedRecalls.map((recall) => (
              <th key={recall} scope="col" class="right">
                {recall}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {drawn.map(({ share, points }, i) => (
            <tr key={share}>
              <td>
                <span class={`curve-key curve-${i + 1}`} aria-hidden="true" /> {shareText(share)}
              </td>
              {statedRecalls.map((recall) => (
                <td key={recall} class="right num">
                  {efFor(points, recall) ?? 'not reached'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
