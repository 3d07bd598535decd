#ifndef A_HEIGHT
#define A_HEIGHT 64
#define A_WIDTH 96
#define B_WIDTH 128
#endif
__device__ float d_A[A_HEIGHT][A_WIDTH], d_B[A_WIDTH][B_WIDTH], d_C[A_HEIGHT][B_WIDTH];
__device__ int fast;

__device__ __noinline__ float on_tensor_cores(float first) {
    float c[4] = {first, 0, 0, 0};
    unsigned int a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    return c[0];
}

__global__ void matrixMulCUDA() {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < A_WIDTH; ++k) sum += d_A[y][k] * d_B[k][x];
    if (fast) sum = on_tensor_cores(sum);
    d_C[y][x] = sum;
}
