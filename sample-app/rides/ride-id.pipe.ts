import { Injectable, NotFoundException, type PipeTransform } from '@nestjs/common';

/** Ride ids are PostgreSQL bigints, too large for ParseIntPipe and for a JavaScript number. */
@Injectable()
export class RideIdPipe implements PipeTransform<string, string> {
  transform(id: string): string {
    if (!/^\d{1,18}$/.test(id)) {
      throw new NotFoundException(`There is no ride ${id}.`);
    }
    return id;
  }
}
