import { IsInt, Max, Min } from 'class-validator';

export class CreateTipDto {
  /** In cents. */
  @IsInt()
  @Min(1)
  @Max(100_000)
  amount!: number;
}
