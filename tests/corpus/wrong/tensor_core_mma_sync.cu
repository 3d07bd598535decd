__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float c[4] = {0, 0, 0, 0};
    unsigned int a[4] = {1, 2, 3, 4}, b[2] = {5, 6};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    P[threadIdx.x] = c[0];
}
