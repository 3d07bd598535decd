#define TILE_WIDTH 16
__global__ void MatrixMulKernel(const float *A, const float *B, float *C, int numAColumns){
	__shared__ float subA[TILE_WIDTH][TILE_WIDTH];
	__shared__ float subB[TILE_WIDTH][TILE_WIDTH];
	int tx = threadIdx.x; int ty = threadIdx.y;
	int RowIdx = blockIdx.y * TILE_WIDTH + ty;
	int ColIdx = blockIdx.x * TILE_WIDTH + tx;
	float Pvalue = 0.0;
	for (int m = 0; m < (numAColumns - 1)/TILE_WIDTH + 1; m++) {
		int col = m * TILE_WIDTH + tx;
		if (col < numAColumns && RowIdx < numAColumns) {
			subA[ty][tx] = A[RowIdx * numAColumns + col];
		} else {
			subA[ty][tx] = 0;
		}
		int row = m * TILE_WIDTH + ty;
		if (row < numAColumns && ColIdx < numAColumns) {
			subB[ty][tx] = B[row * numAColumns + ColIdx];
		} else {
			subB[ty][tx] = 0;
		}
		__syncthreads();
		for (int k = 0; k < TILE_WIDTH; k++) {
			Pvalue += subA[ty][k] * subB[k][tx];
		}
	}
	__syncthreads();
	if (RowIdx < numAColumns && ColIdx < numAColumns) C[RowIdx * numAColumns + ColIdx] = Pvalue;
}
