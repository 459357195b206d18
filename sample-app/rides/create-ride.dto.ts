import { IsIn, IsOptional, IsString, Length, Matches } from 'class-validator';
import { FARES, type Target } from './fares.js';

export class CreateRideDto {
  @IsString()
  @Length(1, 100)
  origin!: string;

  @IsIn(Object.keys(FARES))
  target!: Target;

  /** A card at the payment provider; `card_declined` is always refused there. */
  @IsOptional()
  @Matches(/^card_\w{1,40}$/)
  card: string = 'card_visa';
}
