import {
  MeterProvider,
  MetricReader,
  type DataPoint,
  type Histogram,
} from '@opentelemetry/sdk-metrics';

class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

type Point = DataPoint<number | Histogram>;

/** OpenTelemetry's SDK for metrics, which a test asks for what it has. */
export class CollectedMetrics {
  private readonly reader = new Reader();
  readonly provider = new MeterProvider({ readers: [this.reader] });

  /** Every metric that has a value, with its unit. */
  async names(): Promise<Record<string, string>> {
    const metrics = (await this.metrics()).filter(({ dataPoints }) => dataPoints.length > 0);
    return Object.fromEntries(metrics.map(({ descriptor }) => [descriptor.name, descriptor.unit]));
  }

  /** The values of a metric under these attributes, and others that it may have: counts of histograms. */
  async value(name: string, attributes: Record<string, string> = {}): Promise<number> {
    const points = (await this.points(name)).filter((point) =>
      Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
    );
    return points.reduce((sum, { value }) => sum + numberOf(value), 0);
  }

  async points(name: string): Promise<Point[]> {
    const metric = (await this.metrics()).find(({ descriptor }) => descriptor.name === name);
    return (metric?.dataPoints ?? []) as Point[];
  }

  private async metrics() {
    const { resourceMetrics, errors } = await this.reader.collect();
    if (errors.length > 0) throw errors[0];
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  }
}

function numberOf(value: number | Histogram): number {
  return typeof value === 'number' ? value : value.count;
}
