import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** Not shown in the docs. */
@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  item!: string;

  @Column('integer')
  amount!: number;

  @Column('text', { nullable: true })
  chargeId!: string | null;
}
