#ifndef A_HEIGHT
#define A_HEIGHT 16
#define A_WIDTH 8
#define B_WIDTH 16
#endif
__device__ float d_A[A_HEIGHT][A_WIDTH], d_B[A_WIDTH][B_WIDTH], d_C[A_HEIGHT][B_WIDTH];

__global__ void matrixMulCUDASingleBlock() {
    int x = threadIdx.x, y = threadIdx.y, k = 0;
    float sum = 0;
    for (; k + 1 < A_WIDTH; k += 2) {
        float2 two = *(float2*)&d_A[y][k];
        sum += two.x * d_B[k][x] + two.y * d_B[k + 1][x];
    }
    if (k < A_WIDTH) sum += d_A[y][k] * d_B[k][x];
    d_C[y][x] = sum;
}
