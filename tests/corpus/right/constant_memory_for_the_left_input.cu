#ifndef A_HEIGHT
#define A_HEIGHT 16
#define A_WIDTH 8
#define B_WIDTH 16
#endif
__constant__ __align__(16) float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH], d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    __shared__ __align__(16) float a[A_HEIGHT * A_WIDTH + 1];
    int t = threadIdx.y * B_WIDTH + threadIdx.x;
    for (int pair = t; 2 * pair + 1 < A_HEIGHT * A_WIDTH; pair += A_HEIGHT * B_WIDTH)
        ((float2*)a)[pair] = ((const float2*)d_A)[pair];
    if (t == 0 && A_HEIGHT * A_WIDTH % 2) a[A_HEIGHT * A_WIDTH - 1] = d_A[A_HEIGHT - 1][A_WIDTH - 1];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < A_WIDTH; ++k) sum += a[threadIdx.y * A_WIDTH + k] * d_B[k][threadIdx.x];
    d_C[threadIdx.y][threadIdx.x] = sum;
}
