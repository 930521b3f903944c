// The icons of the dashboard, as strokes on a 16 by 16 grid.
const paths = {
  collection: 'M2.5 4.5 8 2l5.5 2.5L8 7zM2.5 8 8 10.5 13.5 8M2.5 11.5 8 14l5.5-2.5',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14',
  backup: 'M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 9h3',
  log: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.3 1.6',
  changes: 'M2.5 4h7M2.5 8h11M2.5 12h7M12.5 2.5v3M11 4h3',
  pulse: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  cluster:
    'M8 5.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM3.5 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM12.5 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 5.3l-2.5 5M9 5.3l2.5 5M5.5 12h5',
  console: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3',
  database:
    'M3 4c0-1 2.2-1.7 5-1.7S13 3 13 4s-2.2 1.8-5 1.8S3 5 3 4zM3 4v8c0 1 2.2 1.8 5 1.8s5-.8 5-1.8V4M3 8c0 1 2.2 1.8 5 1.8S13 9 13 8',
  key: 'M5.5 13.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.6 8.4 13.5 2.5M11 5l2 2',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9',
  download: 'M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M2.5 13.5h11',
  upload: 'M8 10.5v-8M4.8 5.7 8 2.5l3.2 3.2M2.5 13.5h11',
  sun: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  system: 'M2 3h12v8H2zM6 13.5h4M8 11v2.5',
  leave: 'M9.5 2.5h-6v11h6M6.5 8h7M11 5.5 13.5 8 11 10.5',
  map: 'M3.5 4.5h.01M7 7.5h.01M5 11h.01M11.5 4h.01M10.5 9.5h.01M12.5 12h.01M8.5 3.2h.01',
  warning: 'M8 2.5 14.2 13H1.8zM8 6.5v3M8 11.4v.1',
  license: 'M3 2h7l3 3v9H3zM5.5 7.5h5M5.5 10h5',
  save: 'M4 2.5h8v11L8 10.5l-4 3z',
  keyboard: 'M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M4.5 9.5h7',
  compare: 'M2.5 3h4.5v10H2.5zM9 3h4.5v10H9z',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width={name === 'map' ? 2.2 : 1.4}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  )
}
