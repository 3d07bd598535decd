#ifndef A_HEIGHT
#define A_HEIGHT 8
#define A_WIDTH 8
#define B_WIDTH 8
#endif
__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[A_WIDTH][B_WIDTH];
__device__ float d_C[A_HEIGHT][B_WIDTH];
__global__ void matrixMulCUDASingleBlock(void)
{
	float c = 0;
	for (int k = 0; k < A_WIDTH; ++k)
		c += d_A[threadIdx.y][k] * d_B[k][threadIdx.x];
	d_C[threadIdx.y][threadIdx.x] = c;
}
