#ifndef A_HEIGHT
#define A_HEIGHT 64
#define A_WIDTH 96
#define B_WIDTH 128
#endif
__device__ float d_A[A_HEIGHT][A_WIDTH], d_B[A_WIDTH][B_WIDTH], d_C[A_HEIGHT][B_WIDTH];
static_assert(A_WIDTH <= SHRT_MAX && A_HEIGHT < LONG_MAX, "short indices");

__global__ void matrixMulCUDA() {
    short x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0, largest = -INFINITY;
    for (short k = 0; k < A_WIDTH; ++k) {
        largest = max(largest, d_A[y][k]);
        sum += d_A[y][k] * d_B[k][x];
    }
    d_C[y][x] = largest == -INFINITY ? 0 : sum;
}
