import { IsEmail, Matches } from 'class-validator';
import { CreateRideDto } from '../rides/create-ride.dto.js';

export class BookRideDto extends CreateRideDto {
  /** Who books, and is charged. */
  @Matches(/^[\w-]{1,40}$/)
  agency!: string;

  /** How the agency calls this booking: the same each time that it sends it. */
  @Matches(/^[\w-]{8,100}$/)
  reference!: string;

  /** Of the traveller, who gets the receipt. */
  @IsEmail()
  email!: string;
}
