#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
	__shared__ float sm[TILE_WIDTH][TILE_WIDTH];
	__shared__ float sn[TILE_WIDTH][TILE_WIDTH];
	int r = blockIdx.y * TILE_WIDTH + threadIdx.y;
	int c = blockIdx.x * TILE_WIDTH + threadIdx.x;
	float v = 0;
	for (int m = 0; m < Width/TILE_WIDTH; ++m) {
		sm[threadIdx.y][threadIdx.x] = M[r*Width + m*TILE_WIDTH + threadIdx.x];
		sn[threadIdx.y][threadIdx.x] = N[(m*TILE_WIDTH + threadIdx.y)*Width + c];
		__syncthreads();
		for (int k = 0; k < TILE_WIDTH; ++k){
			v += sm[threadIdx.y][k] * sn[k][threadIdx.x];
			__syncthreads();
		}
	}
	P[r*Width + c] = v;
}
